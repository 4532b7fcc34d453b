//! Errors of tokens, keys and sealed secrets.

use std::fmt;

use crate::algorithm::Algorithm;

/// Why a token was rejected.
///
/// The variants are as fine as the finest contract needs (REST contract §4.1); a service may map several
/// of them to one response. The texts are for logs and people; services whose contract fixes other
/// texts match on the variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The project has neither a secret nor a usable key.
    #[error("This project has no key to check tokens with")]
    NoKeys,
    #[error("The token is empty")]
    Empty,
    /// The number of parts between dots.
    #[error("A token has 3 parts separated by dots; this one has {0}")]
    NotThreeParts(usize),
    /// The token is encrypted (JWE), which is not supported. A well-formed one has 5 parts.
    #[error("The token is encrypted; only signed tokens are understood")]
    EncryptedToken { parts: usize },
    /// Not base64url, not a JSON object, no `alg`, or a critical extension.
    #[error("The token's header cannot be read")]
    UndecodableHeader,
    #[error("The token's signature is not valid base64url")]
    UndecodableSignature,
    /// `none`, an unknown algorithm, one that no key of the project uses, or not that of the key
    /// the token names.
    #[error("The token's algorithm \"{0}\" is not one that this project's keys use")]
    WrongAlgorithm(String),
    /// The token names a key that the project does not have, or has revoked.
    #[error("The token was signed with a key that this project does not know or has revoked")]
    NoSuitableKey {
        kid: Option<String>,
        algorithm: Algorithm,
    },
    #[error("The token's signature does not match")]
    BadSignature { algorithm: Algorithm },
    #[error("The token's payload is not a JSON object")]
    ClaimsNotAnObject,
    #[error("The token's \"{0}\" claim must be a number")]
    NotANumber(TimeClaim),
    #[error("The token has expired")]
    Expired,
    #[error("The token is not valid yet")]
    NotYetValid,
    #[error("The token was issued in the future")]
    IssuedInFuture,
    #[error("The token is meant for another audience")]
    AudienceMismatch,
    #[error("The token's \"aud\" claim must be a string or an array of strings")]
    InvalidAudience,
}

/// The claims that carry a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeClaim {
    Exp,
    Nbf,
    Iat,
}

impl TimeClaim {
    /// The claim's name in a token.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Nbf => "nbf",
            Self::Iat => "iat",
        }
    }
}

impl fmt::Display for TimeClaim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why a key or a set of keys cannot be used. No message ever contains private parts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("This is not a JSON Web Key: expected an object with \"kty\" and texts as members")]
    NotAKey,
    /// Position only: the text around the error may be private.
    #[error("Expected a JSON array of private keys (line {line}, column {column})")]
    NotAnArray { line: usize, column: usize },
    #[error("Expected a JSON Web Key or a key set {{\"keys\": […]}}")]
    NotAKeySet,
    #[error("Keys of type \"{0}\" are not supported; use \"EC\", \"RSA\", \"OKP\" or \"oct\"")]
    UnsupportedKeyType(String),
    #[error("The curve \"{0}\" is not supported; use \"P-256\", \"P-384\" or \"Ed25519\"")]
    UnsupportedCurve(String),
    #[error("The algorithm \"{0}\" is not supported; use ES256, RS256, HS256 or EdDSA")]
    UnsupportedAlgorithm(String),
    #[error("A key of type \"{kty}\" on this curve cannot be used with {algorithm}")]
    AlgorithmMismatch { kty: String, algorithm: Algorithm },
    #[error("The key lacks its member \"{0}\"")]
    MissingMember(&'static str),
    #[error("The key's member \"{0}\" is not valid base64url")]
    MalformedMember(&'static str),
    #[error("The shared secret is empty")]
    EmptySecret,
    #[error("The key's numbers do not form a valid key; RSA keys need at least 2048 bits")]
    InvalidKey,
    #[error("{0} keys cannot be generated here; import one instead")]
    CannotGenerate(Algorithm),
    #[error("Exactly one key must be allowed to sign (\"key_ops\" with \"sign\"), found {0}")]
    NotOneSigningKey(usize),
    #[error("Two keys have the same key id \"{0}\"")]
    DuplicateKeyId(String),
    #[error("More than one key is in use; only one can sign")]
    SeveralKeysInUse,
    #[error("This project has no key to sign tokens with")]
    NoSigningKey,
    #[error("The claims cannot be written as JSON: {0}")]
    UnwritableClaims(String),
    #[error("Signing failed")]
    SigningFailed,
}

impl KeyError {
    /// Whether the key may be valid but is not supported here.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(
            self,
            Self::UnsupportedKeyType(_) | Self::UnsupportedCurve(_) | Self::UnsupportedAlgorithm(_)
        )
    }
}

/// Why a sealed secret cannot be opened, or an instance key cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("The instance key must be 32 bytes, written as 64 hexadecimal digits or in base64")]
    InvalidInstanceKey,
    #[error("This is not a sealed value, or one of a newer version")]
    NotSealed,
    #[error(
        "This value was sealed with the instance key {sealed_with}, but the key in use is {ours}"
    )]
    WrongKey { sealed_with: String, ours: String },
    /// Both cases fail the same check and cannot be distinguished.
    #[error("The sealed value is damaged, or was sealed for another place")]
    Damaged,
    #[error("The sealed value is not text")]
    NotText,
}
