//! Proof Key for Code Exchange (auth contract §5.4, E-PKCE).

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use subtle::ConstantTimeEq;

use crate::AuthError;

/// The client's challenge.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) text: String,
    pub(crate) method: ChallengeMethod,
}

/// The challenge method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChallengeMethod {
    S256,
    Plain,
}

impl ChallengeMethod {
    /// The stored form.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::S256 => "s256",
            Self::Plain => "plain",
        }
    }

    /// Ignores case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "s256" => Some(Self::S256),
            "plain" => Some(Self::Plain),
            _ => None,
        }
    }
}

impl Challenge {
    /// Both or neither; empty is absent.
    pub(crate) fn parse(text: &str, method: &str) -> Result<Option<Self>, AuthError> {
        if text.is_empty() != method.is_empty() {
            return Err(AuthError::validation_failed(
                "PKCE flow requires code_challenge_method and code_challenge",
            ));
        }
        if text.is_empty() {
            return Ok(None);
        }
        let Some(method) = ChallengeMethod::parse(method) else {
            return Err(AuthError::validation_failed(
                "code_challenge_method must be one of: s256, plain",
            ));
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !(43..=128).contains(&text.len()) || !text.bytes().all(is_allowed) {
            return Err(AuthError::validation_failed(
                "code challenge has to be between 43 and 128 characters of A-Z, a-z, 0-9, \
                 hyphen, period, underscore and tilde",
            ));
        }
        let text = text.to_owned();
        Ok(Some(Self { text, method }))
    }

    /// Whether this verifier matches the challenge.
    pub(crate) fn matches(&self, verifier: &str) -> bool {
        let made = match self.method {
            ChallengeMethod::Plain => verifier.to_owned(),
            ChallengeMethod::S256 => s256_challenge(verifier),
        };
        made.as_bytes().ct_eq(self.text.as_bytes()).into()
    }
}

/// The `S256` challenge of a verifier.
pub(crate) fn s256_challenge(verifier: &str) -> String {
    BASE64URL_NOPAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn a_hashed_challenge_is_met_by_its_verifier_alone() {
        let challenge = Challenge::parse(CHALLENGE, "S256")
            .expect("good")
            .expect("given");

        assert!(challenge.matches(VERIFIER));
        assert!(!challenge.matches(CHALLENGE));
        assert!(!challenge.matches(""));
    }

    #[test]
    fn half_a_challenge_or_a_bad_one_is_rejected() {
        assert!(Challenge::parse("", "").is_ok_and(|parsed| parsed.is_none()));
        for (text, method) in [
            (CHALLENGE, ""),
            ("", "s256"),
            (CHALLENGE, "md5"),
            ("short", "s256"),
            (&"a".repeat(129), "plain"),
            (&"a b".repeat(20), "plain"),
        ] {
            assert!(Challenge::parse(text, method).is_err(), "{text} {method}");
        }
    }
}
