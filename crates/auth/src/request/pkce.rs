//! Proof key for code exchange: what the client committed to (auth contract §5.4, E-PKCE).

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;
use subtle::ConstantTimeEq;

use crate::AuthError;

/// What the client will have to prove later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) text: String,
    pub(crate) method: ChallengeMethod,
}

/// How the challenge was made of the verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChallengeMethod {
    S256,
    Plain,
}

impl ChallengeMethod {
    /// As the database has it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::S256 => "s256",
            Self::Plain => "plain",
        }
    }

    /// By its name, in any case.
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
            return Err(AuthError::invalid(
                "PKCE flow requires code_challenge_method and code_challenge",
            ));
        }
        if text.is_empty() {
            return Ok(None);
        }
        let Some(method) = ChallengeMethod::parse(method) else {
            return Err(AuthError::invalid(
                "code_challenge_method must be one of: s256, plain",
            ));
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !(43..=128).contains(&text.len()) || !text.bytes().all(is_allowed) {
            return Err(AuthError::invalid(
                "code challenge has to be between 43 and 128 characters of A-Z, a-z, 0-9, \
                 hyphen, period, underscore and tilde",
            ));
        }
        let text = text.to_owned();
        Ok(Some(Self { text, method }))
    }

    /// Whether the challenge was made of this verifier.
    pub(crate) fn is_met_by(&self, verifier: &str) -> bool {
        let made = match self.method {
            ChallengeMethod::Plain => verifier.to_owned(),
            ChallengeMethod::S256 => BASE64URL_NOPAD
                .encode(digest::digest(&digest::SHA256, verifier.as_bytes()).as_ref()),
        };
        made.as_bytes().ct_eq(self.text.as_bytes()).into()
    }
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

        assert!(challenge.is_met_by(VERIFIER));
        assert!(!challenge.is_met_by(CHALLENGE));
        assert!(!challenge.is_met_by(""));
    }

    #[test]
    fn half_a_challenge_or_a_bad_one_is_refused() {
        assert_eq!(Challenge::parse("", "").ok(), Some(None));
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
