//! The credential of a socket or a channel (§2.1), and the texts with which an invalid one is
//! rejected in the handshake (§2.2), in the reply to a join (§5.2) and in a `system` message (§8).

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use plinth_project::{Caller, CallerError, Credentials, Project};
use plinth_token::TokenError;
use serde_json::Value;

/// A verified API key or access token.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    /// The key or token itself, to be verified again later.
    pub(crate) credential: Box<str>,
    /// In seconds since 1970; API keys do not expire.
    pub(crate) expires_at: Option<i64>,
}

impl fmt::Debug for Identity {
    /// Without the credential, which is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("caller", &self.caller)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Why a credential is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CredentialError {
    Malformed,
    /// How many seconds ago.
    Expired(i64),
    /// `role` or `exp`.
    MissingClaims,
    InvalidExpiry,
    BadSignature,
    /// No key can verify the signature.
    NoKey {
        kid: Option<String>,
    },
}

impl Identity {
    /// Verifies a credential as a client sent it.
    pub(crate) fn verify(
        project: &Project,
        credential: &str,
        now: i64,
    ) -> Result<Self, CredentialError> {
        let credential = credential.split_whitespace().collect::<String>();
        let credential = percent_decode_str(&credential).decode_utf8_lossy();
        let caller = Credentials::read_bearer_with_longer_hashes(project, &credential, now)
            .map_err(|error| CredentialError::from_caller_error(error, &credential, now))?;
        let expires_at = match caller.token() {
            None => None,
            Some(token) => {
                let (true, Some(exp)) = (token.claims().contains_key("role"), token.exp()) else {
                    return Err(CredentialError::MissingClaims);
                };
                if exp <= 0 {
                    return Err(CredentialError::InvalidExpiry);
                }
                // REST allows for clock skew; a socket lives much longer than that.
                if now >= exp {
                    return Err(CredentialError::Expired(now - exp));
                }
                Some(exp)
            }
        };
        Ok(Self {
            caller,
            credential: credential.into(),
            expires_at,
        })
    }

    /// Verifies the same credential again: it may have expired, or the keys were replaced.
    pub(crate) fn reverify(&self, project: &Project, now: i64) -> Result<(), CredentialError> {
        Self::verify(project, &self.credential, now).map(drop)
    }
}

impl CredentialError {
    fn from_caller_error(error: CallerError, credential: &str, now: i64) -> Self {
        match error {
            CallerError::Token(error) => Self::from_token_error(error, credential, now),
            CallerError::Missing => Self::Malformed,
            CallerError::UnknownApiKey | CallerError::LegacyKeyDisabled => Self::BadSignature,
        }
    }

    fn from_token_error(error: TokenError, token: &str, now: i64) -> Self {
        match error {
            TokenError::Expired => Self::Expired(seconds_since_expiry(token, now)),
            TokenError::NotANumber(_) => Self::MissingClaims,
            TokenError::BadSignature { .. } => Self::BadSignature,
            TokenError::NoSuitableKey { kid, .. } => Self::NoKey { kid },
            TokenError::NoKeys | TokenError::WrongAlgorithm(_) => Self::NoKey { kid: None },
            TokenError::Empty
            | TokenError::NotThreeParts(_)
            | TokenError::EncryptedToken { .. }
            | TokenError::UndecodableHeader
            | TokenError::UndecodableSignature
            | TokenError::ClaimsNotAnObject
            | TokenError::NotYetValid
            | TokenError::IssuedInFuture
            | TokenError::AudienceMismatch
            | TokenError::InvalidAudience => Self::Malformed,
        }
    }

    /// For the body of a rejected handshake.
    pub(crate) fn handshake_message(&self) -> String {
        match self {
            Self::Expired(_) => "Token has expired".to_owned(),
            other => other.message(),
        }
    }

    /// For the reply to a join.
    pub(crate) fn join_reason(&self) -> String {
        format!("{}: {}", self.code(), self.message())
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Malformed => "MalformedJWT",
            Self::Expired(_) | Self::MissingClaims | Self::InvalidExpiry => "InvalidJWTToken",
            Self::BadSignature => "JwtSignatureError",
            Self::NoKey { .. } => "JwtSignerError",
        }
    }

    /// For a `system` message.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Malformed => "The token provided is not a valid JWT".to_owned(),
            Self::Expired(seconds) => format!("Token has expired {seconds} seconds ago"),
            Self::MissingClaims => "Fields `role` and `exp` are required in JWT".to_owned(),
            Self::InvalidExpiry => "Token expiration time is invalid".to_owned(),
            Self::BadSignature => "Failed to validate JWT signature".to_owned(),
            Self::NoKey { kid } => {
                let which = kid
                    .as_ref()
                    .map(|kid| format!(" for key ID (kid) \"{kid}\""))
                    .unwrap_or_default();
                format!(
                    "Failed to generate JWT signer{which}, check your JWT secret or JWKS \
                     configuration"
                )
            }
        }
    }
}

/// For a token whose signature is valid.
fn seconds_since_expiry(token: &str, now: i64) -> i64 {
    let claims = token.split('.').nth(1);
    let claims = claims.and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<Value> = claims.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let exp = claims.and_then(|claims| claims.get("exp")?.as_f64());
    exp.map_or(0, |exp| now.saturating_sub(exp as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_own_text() {
        let expired = CredentialError::Expired(7);
        assert_eq!(expired.handshake_message(), "Token has expired");
        assert_eq!(
            expired.join_reason(),
            "InvalidJWTToken: Token has expired 7 seconds ago"
        );
        assert_eq!(expired.message(), "Token has expired 7 seconds ago");

        let no_key = CredentialError::NoKey {
            kid: Some("k1".to_owned()),
        };
        assert_eq!(
            no_key.join_reason(),
            "JwtSignerError: Failed to generate JWT signer for key ID (kid) \"k1\", check your \
             JWT secret or JWKS configuration"
        );
        assert_eq!(
            CredentialError::MissingClaims.join_reason(),
            "InvalidJWTToken: Fields `role` and `exp` are required in JWT"
        );
    }

    #[test]
    fn the_time_since_expiry_comes_from_the_claims() {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(br#"{"exp":100}"#);
        assert_eq!(seconds_since_expiry(&format!("h.{claims}.s"), 107), 7);
        assert_eq!(seconds_since_expiry("nonsense", 107), 0);
    }
}
