//! Keys that verify tokens, and their public JSON form.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::algorithm::Algorithm;
use crate::error::KeyError;
use crate::jwk::Jwk;
use crate::material::Verifier;

/// A key that verifies tokens: the public half of a signing key, or a shared secret. Cheap to clone.
#[derive(Clone)]
pub struct VerifyingKey(Arc<VerifyingParts>);

struct VerifyingParts {
    kid: Option<String>,
    algorithm: Algorithm,
    checker: Verifier,
    public: Option<Value>,
}

impl VerifyingKey {
    /// Reads a JSON Web Key from a published key set. Private members are ignored.
    pub fn from_jwk(jwk: &Value) -> Result<Self, KeyError> {
        let jwk = Jwk::deserialize(jwk).map_err(|_| KeyError::NotAKey)?;
        Self::from_parts(&jwk)
    }

    pub(crate) fn from_parts(jwk: &Jwk) -> Result<Self, KeyError> {
        let algorithm = jwk.algorithm()?;
        Ok(Self(Arc::new(VerifyingParts {
            kid: jwk.kid.clone(),
            algorithm,
            checker: Verifier::new(jwk, algorithm)?,
            public: jwk.public_half(algorithm),
        })))
    }

    /// The key's id, by which tokens refer to it.
    pub fn kid(&self) -> Option<&str> {
        self.0.kid.as_deref()
    }

    /// The only algorithm this key may be used with.
    pub fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }

    /// The published form; `None` for shared secrets.
    pub fn public_jwk(&self) -> Option<&Value> {
        self.0.public.as_ref()
    }

    /// Whether the signature is this key's over the message.
    pub(crate) fn verifies(&self, message: &[u8], signature: &Vec<u8>) -> bool {
        self.0.checker.verifies(message, signature)
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("VerifyingKey")
            .field("kid", &self.kid())
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

/// Reads a published key set `{"keys": […]}`, or a single key.
///
/// Keys for other purposes than signatures, and of unsupported types, are skipped, as the standard
/// requires (RFC 7517 §5). An invalid key is an error.
pub fn public_keys_from_json(json: &str) -> Result<Vec<VerifyingKey>, KeyError> {
    let document: Value = serde_json::from_str(json).map_err(|_| KeyError::NotAKeySet)?;
    let single;
    let keys = match (document.get("keys"), document.get("kty")) {
        (Some(Value::Array(keys)), _) => keys.as_slice(),
        (None, Some(_)) => {
            single = [document];
            &single[..]
        }
        _ => return Err(KeyError::NotAKeySet),
    };
    let is_for_signatures = |key: &&Value| key.get("use").is_none_or(|usage| usage == "sig");
    keys.iter()
        .filter(is_for_signatures)
        .map(VerifyingKey::from_jwk)
        .filter(|key| !matches!(key, Err(error) if error.is_unsupported()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::signing_key::SigningKey;

    fn public(algorithm: Algorithm) -> Value {
        SigningKey::generate(algorithm)
            .unwrap()
            .public_jwk()
            .unwrap()
            .clone()
    }

    #[test]
    fn a_published_key_set_can_be_read() {
        let (es256, rs256) = (public(Algorithm::Es256), public(Algorithm::Rs256));

        let keys = public_keys_from_json(&json!({ "keys": [es256, rs256] }).to_string()).unwrap();

        let published: Vec<&Value> = keys.iter().filter_map(VerifyingKey::public_jwk).collect();
        assert_eq!(published, [&es256, &rs256]);
    }

    #[test]
    fn a_single_key_counts_as_a_set_of_one() {
        let keys = public_keys_from_json(r#"{"kty":"oct","k":"c2VjcmV0","kid":"a"}"#).unwrap();

        assert_eq!(keys.len(), 1);
        assert_eq!(
            (keys[0].kid(), keys[0].algorithm()),
            (Some("a"), Algorithm::Hs256)
        );
        assert_eq!(keys[0].public_jwk(), None);
    }

    #[test]
    fn keys_of_other_kinds_and_purposes_are_passed_over() {
        let mut for_encryption = public(Algorithm::Rs256);
        for_encryption["use"] = json!("enc");
        let set = json!({ "keys": [
            for_encryption,
            { "kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA" },
            { "kty": "XYZ" },
            public(Algorithm::EdDsa),
        ] });

        let keys = public_keys_from_json(&set.to_string()).unwrap();

        assert_eq!(keys.len(), 1);
        assert_eq!(keys[0].algorithm(), Algorithm::EdDsa);
    }

    #[test]
    fn broken_keys_and_other_documents_are_rejected() {
        let mut off_curve = public(Algorithm::Es256);
        off_curve["y"] = off_curve["x"].clone();
        let rejected = |document: Value| public_keys_from_json(&document.to_string()).unwrap_err();

        assert_eq!(
            rejected(json!({ "keys": [off_curve] })),
            KeyError::InvalidKey
        );
        assert_eq!(rejected(json!({ "keys": ["text"] })), KeyError::NotAKey);
        assert_eq!(rejected(json!({ "keys": 7 })), KeyError::NotAKeySet);
        assert_eq!(rejected(json!([])), KeyError::NotAKeySet);
        assert_eq!(
            public_keys_from_json("{").unwrap_err(),
            KeyError::NotAKeySet
        );
    }

    #[test]
    fn an_rsa_key_that_is_too_short_is_rejected() {
        let modulus = crate::encoding::base64url(&[0xff; 128]);
        let key = json!({ "kty": "RSA", "n": modulus, "e": "AQAB" });

        assert_eq!(
            VerifyingKey::from_jwk(&key).unwrap_err(),
            KeyError::InvalidKey
        );
    }

    #[test]
    fn zeros_that_other_programs_put_before_an_rsa_number_do_no_harm() {
        let signing = SigningKey::generate(Algorithm::Rs256).unwrap();
        let mut jwk = signing.public_jwk().unwrap().clone();
        let modulus = crate::encoding::from_base64url(jwk["n"].as_str().unwrap()).unwrap();
        jwk["n"] = json!(crate::encoding::base64url(&[&[0][..], &modulus].concat()));

        let key = VerifyingKey::from_jwk(&jwk).unwrap();

        let token = signing.sign(&json!({})).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let signature = crate::encoding::from_base64url(signature).unwrap();
        assert!(key.verifies(message.as_bytes(), &signature));
    }
}
