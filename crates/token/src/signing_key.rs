//! Keys that sign tokens, and their private JSON form.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::algorithm::Algorithm;
use crate::encoding::base64url;
use crate::error::KeyError;
use crate::jwk::{Jwk, PrivateMember, SIGN_AND_VERIFY};
use crate::material::{self, Signer};
use crate::secret::Secret;
use crate::verifying_key::VerifyingKey;
use crate::{random, rsa};

/// A key that signs tokens. Cheap to clone.
#[derive(Clone)]
pub struct SigningKey(Arc<SigningParts>);

struct SigningParts {
    jwk: Jwk,
    signer: Signer,
    verifying: VerifyingKey,
    /// The encoded header of every token this key signs.
    encoded_header: String,
}

impl SigningKey {
    /// A new random key with a random key id.
    ///
    /// New projects use ES256. Clients verify ES256 and RS256 locally, but not EdDSA, so choose that
    /// deliberately (client contract S47).
    pub fn generate(algorithm: Algorithm) -> Result<Self, KeyError> {
        let kid = random::uuid().to_string();
        let jwk = match algorithm {
            Algorithm::Es256 => material::generate_p256(kid)?,
            Algorithm::EdDsa => material::generate_ed25519(kid)?,
            Algorithm::Rs256 => rsa::generate(algorithm, kid)?,
            Algorithm::Hs256 => Jwk {
                k: PrivateMember::encode(&random::bytes::<32>()[..]),
                ..Jwk::new(algorithm, Some(kid), &SIGN_AND_VERIFY)
            },
            other => return Err(KeyError::CannotGenerate(other)),
        };
        Self::from_parts(jwk)
    }

    /// A shared secret as HS256 key: the bytes of the text are the key.
    pub fn from_shared_secret(secret: &[u8], kid: Option<String>) -> Result<Self, KeyError> {
        Self::from_parts(Jwk {
            k: PrivateMember::encode(secret),
            ..Jwk::new(Algorithm::Hs256, kid, &SIGN_AND_VERIFY)
        })
    }

    /// The same shared secret with the longer hashes, for verification.
    pub(crate) fn with_longer_hashes(&self) -> Vec<VerifyingKey> {
        let longer = [Algorithm::Hs384, Algorithm::Hs512].map(|algorithm| {
            VerifyingKey::from_parts(&Jwk {
                k: self.0.jwk.k.clone(),
                ..Jwk::new(algorithm, self.0.jwk.kid.clone(), &["verify"])
            })
        });
        longer.into_iter().flatten().collect()
    }

    /// Parses a private JSON Web Key. Its halves are checked to belong together.
    pub fn from_private_jwk(json: &str) -> Result<Self, KeyError> {
        let jwk: Jwk = serde_json::from_str(json).map_err(|_| KeyError::NotAKey)?;
        Self::from_parts(jwk)
    }

    pub(crate) fn from_parts(jwk: Jwk) -> Result<Self, KeyError> {
        let algorithm = jwk.algorithm()?;
        let verifying = VerifyingKey::from_parts(&jwk)?;
        let signer = Signer::new(&jwk, algorithm)?;

        let mut header = json!({ "alg": algorithm.name(), "typ": "JWT" });
        if let Some(kid) = &jwk.kid {
            header["kid"] = json!(kid);
        }
        let encoded_header = base64url(header.to_string().as_bytes());
        Ok(Self(Arc::new(SigningParts {
            jwk,
            signer,
            verifying,
            encoded_header,
        })))
    }

    /// The key's id, which the tokens it signs carry.
    pub fn kid(&self) -> Option<&str> {
        self.0.jwk.kid.as_deref()
    }

    /// The algorithm it signs with.
    pub fn algorithm(&self) -> Algorithm {
        self.0.verifying.algorithm()
    }

    /// The public half.
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.0.verifying
    }

    /// The published form; `None` for shared secrets.
    pub fn public_jwk(&self) -> Option<&Value> {
        self.0.verifying.public_jwk()
    }

    /// The whole key as a JSON Web Key, to be sealed or written to a private file.
    pub fn to_private_jwk(&self) -> Secret {
        let whole = Jwk {
            alg: Some(self.algorithm().name().to_owned()),
            usage: Some("sig".to_owned()),
            key_ops: Some(SIGN_AND_VERIFY.map(str::to_owned).to_vec()),
            ..self.0.jwk.clone()
        };
        Secret::new(serde_json::to_string(&whole).expect("a struct of texts is always valid JSON"))
    }

    /// Signs a token with these claims.
    pub fn sign(&self, claims: &impl Serialize) -> Result<String, KeyError> {
        let claims = serde_json::to_vec(claims)
            .map_err(|error| KeyError::UnwritableClaims(error.to_string()))?;
        let message = format!("{}.{}", self.0.encoded_header, base64url(&claims));
        let signature = self.0.signer.sign(message.as_bytes())?;
        Ok(format!("{message}.{}", base64url(&signature)))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SigningKey")
            .field("kid", &self.kid())
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::from_base64url;

    const GENERATED: [Algorithm; 4] = [
        Algorithm::Es256,
        Algorithm::Rs256,
        Algorithm::EdDsa,
        Algorithm::Hs256,
    ];

    fn private_value(key: &SigningKey) -> Value {
        serde_json::from_str(key.to_private_jwk().expose()).unwrap()
    }

    #[test]
    fn a_key_survives_being_written_and_read() {
        for algorithm in GENERATED {
            let key = SigningKey::generate(algorithm).unwrap();

            let read = SigningKey::from_private_jwk(key.to_private_jwk().expose()).unwrap();

            assert_eq!(read.kid(), key.kid());
            assert_eq!(read.algorithm(), algorithm);
            assert_eq!(read.public_jwk(), key.public_jwk());
            assert_eq!(private_value(&read), private_value(&key));
            let signature = read.0.signer.sign(b"message").unwrap();
            assert!(key.verifying_key().verifies(b"message", &signature));
        }
    }

    #[test]
    fn a_token_says_which_key_and_algorithm_signed_it() {
        for algorithm in GENERATED {
            let key = SigningKey::generate(algorithm).unwrap();

            let token = key.sign(&json!({})).unwrap();

            let header = from_base64url(token.split('.').next().unwrap()).unwrap();
            let header: Value = serde_json::from_slice(&header).unwrap();
            let expected = json!({ "alg": algorithm.name(), "typ": "JWT", "kid": key.kid() });
            assert_eq!(header, expected);
        }
    }

    #[test]
    fn a_shared_secret_without_id_leaves_it_out_of_the_header() {
        let key = SigningKey::from_shared_secret(b"secret", None).unwrap();

        let token = key.sign(&json!({})).unwrap();

        assert!(token.starts_with(&base64url(br#"{"alg":"HS256","typ":"JWT"}"#)));
    }

    #[test]
    fn the_public_half_has_the_published_members_and_nothing_private() {
        let check = |algorithm, members: &[&str]| {
            let key = SigningKey::generate(algorithm).unwrap();
            let public = key.public_jwk().unwrap().as_object().unwrap();
            let names: Vec<&str> = public.keys().map(String::as_str).collect();
            assert_eq!(names, members);
            assert_eq!(public["use"], "sig");
            assert_eq!(public["key_ops"], json!(["verify"]));
            assert_eq!(public["alg"], algorithm.name());
        };

        check(
            Algorithm::Es256,
            &["alg", "crv", "key_ops", "kid", "kty", "use", "x", "y"],
        );
        check(
            Algorithm::EdDsa,
            &["alg", "crv", "key_ops", "kid", "kty", "use", "x"],
        );
        check(
            Algorithm::Rs256,
            &["alg", "e", "key_ops", "kid", "kty", "n", "use"],
        );
        let shared = SigningKey::generate(Algorithm::Hs256).unwrap();
        assert_eq!(shared.public_jwk(), None);
    }

    #[test]
    fn halves_of_different_keys_are_rejected() {
        for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
            let mut mixed = private_value(&SigningKey::generate(algorithm).unwrap());
            let other = private_value(&SigningKey::generate(algorithm).unwrap());
            mixed["d"] = other["d"].clone();

            let error = SigningKey::from_private_jwk(&mixed.to_string()).unwrap_err();

            assert_eq!(error, KeyError::InvalidKey, "{algorithm}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_used_is_rejected_with_the_reason() {
        let whole = private_value(&SigningKey::generate(Algorithm::Es256).unwrap());
        let rejected = |member: &str, value: Option<Value>| {
            let mut jwk = whole.clone();
            match value {
                Some(value) => jwk[member] = value,
                None => drop(jwk.as_object_mut().unwrap().remove(member)),
            }
            SigningKey::from_private_jwk(&jwk.to_string()).unwrap_err()
        };

        assert_eq!(rejected("d", None), KeyError::MissingMember("d"));
        assert_eq!(rejected("y", None), KeyError::MissingMember("y"));
        assert_eq!(rejected("kty", None), KeyError::NotAKey);
        assert_eq!(
            rejected("x", Some(json!("a+b"))),
            KeyError::MalformedMember("x")
        );
        assert_eq!(rejected("x", Some(json!("AAAA"))), KeyError::InvalidKey);
        assert_eq!(
            rejected("d", Some(json!("A".repeat(60)))),
            KeyError::InvalidKey
        );
        assert_eq!(
            rejected("alg", Some(json!("ES256K"))),
            KeyError::UnsupportedAlgorithm("ES256K".into())
        );
        assert_eq!(
            rejected("kty", Some(json!("oct"))),
            KeyError::AlgorithmMismatch {
                kty: "oct".into(),
                algorithm: Algorithm::Es256,
            }
        );
        assert_eq!(
            SigningKey::from_private_jwk("[]").unwrap_err(),
            KeyError::NotAKey
        );
        let empty = SigningKey::from_private_jwk(r#"{"kty":"oct","k":""}"#).unwrap_err();
        assert_eq!(empty, KeyError::EmptySecret);
    }

    #[test]
    fn debug_output_holds_no_private_text() {
        let key = SigningKey::generate(Algorithm::Es256).unwrap();
        let private = private_value(&key)["d"].as_str().unwrap().to_owned();

        assert!(!format!("{key:?} {:?}", key.verifying_key()).contains(&private));
    }

    #[test]
    fn unusual_algorithms_can_be_imported_but_not_generated() {
        let error = SigningKey::generate(Algorithm::Rs512).unwrap_err();
        assert_eq!(error, KeyError::CannotGenerate(Algorithm::Rs512));

        let mut jwk = private_value(&SigningKey::generate(Algorithm::Rs256).unwrap());
        jwk["alg"] = json!("RS512");
        let key = SigningKey::from_private_jwk(&jwk.to_string()).unwrap();
        let signature = key.0.signer.sign(b"message").unwrap();
        assert!(key.verifying_key().verifies(b"message", &signature));
    }

    #[test]
    fn claims_that_json_cannot_hold_are_rejected() {
        let key = SigningKey::from_shared_secret(b"secret", None).unwrap();
        let claims = std::collections::HashMap::from([(vec![1], 2)]);

        assert!(matches!(
            key.sign(&claims),
            Err(KeyError::UnwritableClaims(_))
        ));
    }
}
