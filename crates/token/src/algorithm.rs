//! Signature algorithms a token may name in its header.

use std::fmt;

/// A signature algorithm (RFC 7518 §3.1). `none` is deliberately not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// HMAC with SHA-256: the legacy shared secret.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
    /// RSA, PKCS#1 v1.5, with SHA-256.
    Rs256,
    /// RSA, PKCS#1 v1.5, with SHA-384.
    Rs384,
    /// RSA, PKCS#1 v1.5, with SHA-512.
    Rs512,
    /// ECDSA on P-256: what new projects sign with.
    Es256,
    /// ECDSA on P-384.
    Es384,
    /// ECDSA on P-521.
    Es512,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    const ALL: [Self; 10] = [
        Self::Hs256,
        Self::Hs384,
        Self::Hs512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::EdDsa,
    ];

    /// The registered name, as it stands in a token's header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Finds an algorithm by its exact, case-sensitive name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
    }

    /// Whether signer and verifier share one secret, which then must never be published.
    pub fn is_symmetric(self) -> bool {
        matches!(self, Self::Hs256 | Self::Hs384 | Self::Hs512)
    }

    /// The `kty` that keys of this algorithm carry.
    pub(crate) fn key_type(self) -> &'static str {
        match self {
            Self::Hs256 | Self::Hs384 | Self::Hs512 => "oct",
            Self::Rs256 | Self::Rs384 | Self::Rs512 => "RSA",
            Self::Es256 | Self::Es384 | Self::Es512 => "EC",
            Self::EdDsa => "OKP",
        }
    }

    /// The algorithm in the signature library, if supported there.
    pub(crate) fn to_library(self) -> Option<jsonwebtoken::Algorithm> {
        Some(match self {
            Self::Hs256 => jsonwebtoken::Algorithm::HS256,
            Self::Hs384 => jsonwebtoken::Algorithm::HS384,
            Self::Hs512 => jsonwebtoken::Algorithm::HS512,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
            Self::Rs384 => jsonwebtoken::Algorithm::RS384,
            Self::Rs512 => jsonwebtoken::Algorithm::RS512,
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::Es384 => jsonwebtoken::Algorithm::ES384,
            Self::Es512 => return None,
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        })
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_algorithm_and_no_other_spelling_does() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
            assert_eq!(Algorithm::from_name(&algorithm.name().to_lowercase()), None);
        }
        assert_eq!(Algorithm::from_name("none"), None);
    }
}
