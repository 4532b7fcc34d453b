//! The setting `jwt-secret` of PostgREST (REST contract §4.1): a plain shared secret, one JSON Web
//! Key, or a set of them, possibly in base64.
//!
//! Unlike a project's legacy secret, a plain one here is no fallback: a token that names a key by
//! its id is never checked with it.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::keyset::KeySet;
use crate::legacy::MIN_JWT_SECRET_BYTES;
use crate::signing_key::SigningKey;
use crate::verifying_key::public_keys_from_json;

/// Why the setting cannot be used. Never quotes it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwtSecretError {
    /// The switch says that it is base64.
    #[error("The secret is not valid base64")]
    NotBase64,
    /// HS256 is no stronger than its secret.
    #[error("The JWT secret must be at least {MIN_JWT_SECRET_BYTES} characters long")]
    TooShort,
    /// It is a key or a set of keys, but not a usable one.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Reads base64 in the standard or the URL-safe alphabet (a dot pads there), padded or not.
pub fn decode_base64_secret(text: &[u8]) -> Result<Zeroizing<Vec<u8>>, JwtSecretError> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard: Vec<u8> = text
        .trim_ascii()
        .iter()
        .map(|byte| match byte {
            b'_' => b'/',
            b'-' => b'+',
            b'.' => b'=',
            other => *other,
        })
        .collect();
    let decoded = GeneralPurpose::new(&STANDARD, lenient).decode(Zeroizing::new(standard));
    decoded
        .map(Zeroizing::new)
        .map_err(|_| JwtSecretError::NotBase64)
}

impl KeySet {
    /// The keys that a `jwt-secret` stands for. They check tokens and sign none.
    pub fn from_jwt_secret(secret: &[u8]) -> Result<Self, JwtSecretError> {
        let keys = match as_key_document(secret) {
            Some(document) => public_keys_from_json(document)?,
            None if secret.len() < MIN_JWT_SECRET_BYTES => return Err(JwtSecretError::TooShort),
            None => {
                let key = SigningKey::from_shared_secret(secret, None)?;
                vec![key.verifying_key().clone()]
            }
        };
        let builder = keys
            .into_iter()
            .fold(Self::builder(), |builder, key| builder.verifying_key(key));
        Ok(builder.build()?)
    }
}

/// The text, when it is a JSON object that has the members of a key or of a set.
fn as_key_document(secret: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(secret).ok()?;
    let document: Value = serde_json::from_str(text).ok()?;
    let has = |member| document.get(member).is_some();
    (has("keys") || has("kty")).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::algorithm::Algorithm;
    use crate::error::TokenError;

    const PLAIN: &[u8] = b"reallyreallyreallyreallyverysafe";

    fn token_of(key: &SigningKey) -> String {
        key.sign(&json!({ "role": "author" })).unwrap()
    }

    #[test]
    fn a_plain_secret_checks_hs256() {
        let keys = KeySet::from_jwt_secret(PLAIN).unwrap();
        let key = SigningKey::from_shared_secret(PLAIN, None).unwrap();

        assert_eq!(keys.verify(&token_of(&key)).unwrap().role(), Some("author"));
    }

    #[test]
    fn a_plain_secret_is_no_fallback_for_tokens_that_name_a_key() {
        let keys = KeySet::from_jwt_secret(PLAIN).unwrap();
        let named = SigningKey::from_shared_secret(PLAIN, Some("k1".to_owned())).unwrap();

        let rejected = keys.verify(&token_of(&named)).unwrap_err();

        assert!(matches!(rejected, TokenError::NoSuitableKey { .. }));
    }

    #[test]
    fn one_key_and_a_set_of_keys_are_understood() {
        let signing = SigningKey::generate(Algorithm::Es256).unwrap();
        let public = signing.public_jwk().unwrap();

        for document in [public.clone(), json!({ "keys": [public] })] {
            let keys = KeySet::from_jwt_secret(document.to_string().as_bytes()).unwrap();
            assert!(keys.verify(&token_of(&signing)).is_ok(), "{document}");
        }
    }

    #[test]
    fn short_secrets_and_broken_keys_are_rejected() {
        let rejected = |secret: &str| KeySet::from_jwt_secret(secret.as_bytes()).unwrap_err();

        assert_eq!(rejected("short_secret"), JwtSecretError::TooShort);
        assert_eq!(rejected(""), JwtSecretError::TooShort);
        assert!(matches!(
            rejected(r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#),
            JwtSecretError::Key(_)
        ));
        assert!(matches!(rejected(r#"{"keys":7}"#), JwtSecretError::Key(_)));
    }

    #[test]
    fn base64_is_taken_in_every_spelling() {
        for text in ["_-8=", "_-8", "/+8=", "/+8", " _-8.\n"] {
            let decoded = decode_base64_secret(text.as_bytes()).unwrap();
            assert_eq!(decoded.as_slice(), [0xff, 0xef], "{text:?}");
        }
        for text in ["no base-64!", "a", "ä"] {
            assert!(decode_base64_secret(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
