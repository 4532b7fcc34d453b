//! Personal access tokens of operators (console contract F10): `sbp_` and 40 lower-case
//! hexadecimal digits. The official command line rejects any other shape.

use crate::encoding::{credential_hash, hex};
use crate::random;
use crate::secret::Secret;

const PREFIX: &str = "sbp_";
const DIGITS: usize = 40;
const SHOWN_DIGITS: usize = 4;

/// A personal access token. It is shown once, when made; only its hash is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessToken(Secret);

/// The text does not have the shape of a personal access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("An access token is \"sbp_\" followed by 40 lower-case hexadecimal digits")]
pub struct AccessTokenError;

impl AccessToken {
    /// A new random token (160 bits).
    pub fn generate() -> Self {
        let digits = hex(&random::bytes::<{ DIGITS / 2 }>()[..]);
        Self(Secret::new(format!("{PREFIX}{digits}")))
    }

    /// Parses a text of the right shape. A lookup by hash decides whether the token exists.
    pub fn parse(text: &str) -> Result<Self, AccessTokenError> {
        let digits = text.strip_prefix(PREFIX).ok_or(AccessTokenError)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != DIGITS || !digits.bytes().all(is_digit) {
            return Err(AccessTokenError);
        }
        Ok(Self(Secret::new(text)))
    }

    /// The token itself, to be shown to its owner.
    pub fn text(&self) -> &Secret {
        &self.0
    }

    /// What is stored of the token.
    pub fn hash(&self) -> String {
        credential_hash(self.0.expose())
    }

    /// The token as it may be listed: its beginning, then dots.
    pub fn masked(&self) -> String {
        let shown = &self.0.expose()[..PREFIX.len() + SHOWN_DIGITS];
        format!("{shown}{}", "·".repeat(DIGITS - SHOWN_DIGITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_token_has_the_shape_that_parse_takes() {
        let token = AccessToken::generate();

        let parsed = AccessToken::parse(token.text().expose()).unwrap();

        assert_eq!(parsed, token);
        assert_eq!(parsed.hash(), credential_hash(token.text().expose()));
        assert_ne!(token, AccessToken::generate());
    }

    #[test]
    fn other_shapes_are_rejected() {
        let digits = "0123456789abcdef0123456789abcdef01234567";
        assert!(AccessToken::parse(&format!("sbp_{digits}")).is_ok());

        let wrong = [
            String::new(),
            "sbp_".to_owned(),
            digits.to_owned(),
            format!("sbp_{}", digits.to_uppercase()),
            format!("sbp_{}", &digits[1..]),
            format!("sbp_{digits}0"),
            format!("SBP_{digits}"),
            format!("sbp_{}g", &digits[1..]),
            format!("sbp_{}é", &digits[2..]),
        ];
        for text in wrong {
            assert_eq!(AccessToken::parse(&text), Err(AccessTokenError), "{text}");
        }
    }

    #[test]
    fn a_masked_token_shows_only_its_beginning() {
        let token = AccessToken::parse("sbp_0123456789abcdef0123456789abcdef01234567").unwrap();

        assert_eq!(token.masked(), format!("sbp_0123{}", "·".repeat(36)));
        assert!(!format!("{token:?}").contains("0123"));
    }
}
