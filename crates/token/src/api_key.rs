//! Opaque API keys (console contract §2.4.2).
//!
//! `sb_publishable_` or `sb_secret_`, 22 base64url characters of 16 random bytes, `_`, and 8
//! characters of checksum over everything before that `_`. The checksum is not secret; it only lets a
//! mistyped key be rejected without asking the database. Keys from a configuration file may have any
//! form: look those up by [`credential_hash`] without parsing them.

use crate::claims::{ANON_ROLE, SERVICE_ROLE};
use crate::encoding::{base64url, credential_hash, sha256};
use crate::random;
use crate::secret::Secret;

const RANDOM_BYTES: usize = 16;
const RANDOM_CHARS: usize = 22;
const CHECKSUM_BYTES: usize = 6;
const CHECKSUM_CHARS: usize = 8;
const SHOWN_CHARS: usize = 5;

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApiKeyKind {
    /// Safe in a browser: acts as `anon`.
    Publishable,
    /// For servers only: acts as `service_role`.
    Secret,
}

impl ApiKeyKind {
    /// How keys of this kind begin.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Publishable => "sb_publishable_",
            Self::Secret => "sb_secret_",
        }
    }

    /// The database role that a key of this kind stands for.
    pub fn role(self) -> &'static str {
        match self {
            Self::Publishable => ANON_ROLE,
            Self::Secret => SERVICE_ROLE,
        }
    }

    /// The kind by which a key's text begins. Says nothing about whether the key exists.
    pub fn of(text: &str) -> Option<Self> {
        [Self::Publishable, Self::Secret]
            .into_iter()
            .find(|kind| text.starts_with(kind.prefix()))
    }
}

/// An API key whose form and checksum are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    kind: ApiKeyKind,
    text: Secret,
}

/// Why a text is not one of our API keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiKeyError {
    #[error("An API key begins with \"sb_publishable_\" or \"sb_secret_\"")]
    UnknownKind,
    #[error("The API key is incomplete or has characters that no API key has")]
    WrongForm,
    #[error("The API key is mistyped: its last 8 characters do not fit the rest")]
    Mistyped,
}

impl ApiKey {
    /// A new random key.
    pub fn generate(kind: ApiKeyKind) -> Self {
        let random = random::bytes::<RANDOM_BYTES>();
        let body = format!("{}{}", kind.prefix(), base64url(&random[..]));
        let text = format!("{body}_{}", checksum(&body));
        Self {
            kind,
            text: Secret::new(text),
        }
    }

    /// Parses a key of the right form with the right checksum. A lookup by hash decides whether it exists
    /// and is not revoked.
    pub fn parse(text: &str) -> Result<Self, ApiKeyError> {
        let kind = ApiKeyKind::of(text).ok_or(ApiKeyError::UnknownKind)?;
        let rest = &text[kind.prefix().len()..];
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let right_length = rest.len() == RANDOM_CHARS + 1 + CHECKSUM_CHARS;
        if !right_length || !rest.bytes().all(is_base64url) {
            return Err(ApiKeyError::WrongForm);
        }

        // By position, because the random part may itself contain the separator.
        let (body, tail) = text.split_at(kind.prefix().len() + RANDOM_CHARS);
        let given = tail.strip_prefix('_').ok_or(ApiKeyError::WrongForm)?;
        if given != checksum(body) {
            return Err(ApiKeyError::Mistyped);
        }
        Ok(Self {
            kind,
            text: Secret::new(text),
        })
    }

    /// What the key is for.
    pub fn kind(&self) -> ApiKeyKind {
        self.kind
    }

    /// The key itself.
    pub fn text(&self) -> &Secret {
        &self.text
    }

    /// What is stored for the lookup.
    pub fn hash(&self) -> String {
        credential_hash(self.text.expose())
    }

    /// As much of the key as may be shown to distinguish it from others; 98 random bits stay
    /// hidden.
    pub fn prefix(&self) -> &str {
        &self.text.expose()[..self.kind.prefix().len() + SHOWN_CHARS]
    }

    /// The key as it may be listed: cut after its prefix and filled with dots.
    pub fn masked(&self) -> String {
        let hidden = self.text.expose().len() - self.prefix().len();
        format!("{}{}", self.prefix(), "·".repeat(hidden))
    }
}

fn checksum(body: &str) -> String {
    base64url(&sha256(body.as_bytes())[..CHECKSUM_BYTES])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [ApiKeyKind; 2] = [ApiKeyKind::Publishable, ApiKeyKind::Secret];

    #[test]
    fn a_generated_key_has_the_published_form() {
        for kind in KINDS {
            let key = ApiKey::generate(kind);
            let text = key.text().expose();

            assert_eq!(ApiKey::parse(text), Ok(key.clone()));
            assert_eq!(text.len(), kind.prefix().len() + 22 + 1 + 8);
            assert_eq!(ApiKeyKind::of(text), Some(kind));
            assert_eq!(key.hash(), credential_hash(text));
            assert_ne!(key, ApiKey::generate(kind));
        }
    }

    #[test]
    fn the_kind_decides_the_role() {
        assert_eq!(ApiKeyKind::Publishable.role(), "anon");
        assert_eq!(ApiKeyKind::Secret.role(), "service_role");
    }

    #[test]
    fn the_checksum_is_the_one_other_programs_compute() {
        // printf sb_secret_AAAAAAAAAAAAAAAAAAAAAA | sha256sum, first 6 bytes in base64url
        let body = "sb_secret_AAAAAAAAAAAAAAAAAAAAAA";

        assert!(ApiKey::parse(&format!("{body}_opz40992")).is_ok());
    }

    #[test]
    fn other_texts_are_rejected_with_the_reason() {
        let check = |text: &str, expected| assert_eq!(ApiKey::parse(text), Err(expected), "{text}");

        check("", ApiKeyError::UnknownKind);
        check(
            "sb_temp_AAAAAAAAAAAAAAAAAAAAAA_AAAAAAAA",
            ApiKeyError::UnknownKind,
        );
        check("eyJhbGciOiJIUzI1NiJ9.e30.AAAA", ApiKeyError::UnknownKind);
        check("sb_secret_", ApiKeyError::WrongForm);
        check(
            "sb_secret_AAAAAAAAAAAAAAAAAAAAAA_AAAAAAA",
            ApiKeyError::WrongForm,
        );
        check(
            "sb_secret_AAAAAAAAAAAAAAAAAAAAAA_AAAAAAAAA",
            ApiKeyError::WrongForm,
        );
        check(
            "sb_secret_AAAAAAAAAAAAAAAAAAAAAA-AAAAAAAA",
            ApiKeyError::WrongForm,
        );
        check(
            "sb_secret_AAAAAAAAAAAAAAAAAAAAA+_AAAAAAAA",
            ApiKeyError::WrongForm,
        );
        check(
            "sb_secret_AAAAAAAAAAAAAAAAAAAA\u{e9}_AAAAAAAA",
            ApiKeyError::WrongForm,
        );
        check(
            "sb_secret_AAAAAAAAAAAAAAAAAAAAAA_AAAAAAAA",
            ApiKeyError::Mistyped,
        );
    }

    #[test]
    fn a_masked_key_shows_only_its_prefix() {
        let key = ApiKey::generate(ApiKeyKind::Secret);
        let text = key.text().expose();

        assert_eq!(key.prefix(), &text[..15]);
        assert_eq!(key.masked(), format!("{}{}", &text[..15], "·".repeat(26)));
        assert!(!format!("{key:?}").contains(key.prefix()));
    }

    proptest! {
        #[test]
        fn every_single_mistyped_character_is_noticed(
            secret_kind: bool,
            position in 0_usize..46,
            replacement in "[ -~]",
        ) {
            let key = ApiKey::generate(KINDS[usize::from(secret_kind)]);
            let text = key.text().expose();
            let position = position % text.len();
            prop_assume!(text[position..=position] != replacement);

            let mut mistyped = text.to_owned();
            mistyped.replace_range(position..=position, &replacement);

            prop_assert!(ApiKey::parse(&mistyped).is_err(), "{mistyped}");
        }

        #[test]
        fn a_key_with_two_neighbours_swapped_is_noticed(position in 0_usize..40) {
            let key = ApiKey::generate(ApiKeyKind::Secret);
            let mut bytes = key.text().expose().as_bytes().to_vec();
            prop_assume!(bytes[position] != bytes[position + 1]);

            bytes.swap(position, position + 1);

            prop_assert!(ApiKey::parse(std::str::from_utf8(&bytes).unwrap()).is_err());
        }

        #[test]
        fn no_text_makes_parsing_panic(text in "(sb_(secret|publishable)_)?.{0,40}") {
            let _ = ApiKey::parse(&text);
        }
    }
}
