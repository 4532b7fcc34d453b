//! A file of private keys, as `auth.signing_keys_path` names and `JWT_KEYS` holds.

use crate::error::KeyError;
use crate::jwk::Jwk;
use crate::signing_key::SigningKey;
use crate::verifying_key::VerifyingKey;

/// Keys that were given together: one signs, the others only check tokens signed earlier.
#[derive(Clone, Debug)]
pub struct KeyFile {
    /// The key whose `key_ops` contain `sign`, or that does not say what it may do.
    pub signing: SigningKey,
    /// All others. They may lack their private half.
    pub verifying: Vec<VerifyingKey>,
}

impl KeyFile {
    /// Reads a JSON array of JSON Web Keys, of which exactly one may sign.
    pub fn from_json(json: &str) -> Result<Self, KeyError> {
        let jwks: Vec<Jwk> = serde_json::from_str(json).map_err(|error| KeyError::NotAnArray {
            line: error.line(),
            column: error.column(),
        })?;
        let (mut signing, verifying): (Vec<Jwk>, Vec<Jwk>) =
            jwks.into_iter().partition(Jwk::may_sign);

        if signing.len() > 1 {
            return Err(KeyError::NotOneSigningKey(signing.len()));
        }
        let only = signing.pop().ok_or(KeyError::NotOneSigningKey(0))?;
        Ok(Self {
            signing: SigningKey::from_parts(only)?,
            verifying: verifying
                .iter()
                .map(VerifyingKey::from_parts)
                .collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::algorithm::Algorithm;

    fn private_value(algorithm: Algorithm) -> Value {
        let key = SigningKey::generate(algorithm).unwrap();
        serde_json::from_str(key.to_private_jwk().expose()).unwrap()
    }

    fn read(keys: &[&Value]) -> Result<KeyFile, KeyError> {
        KeyFile::from_json(&json!(keys).to_string())
    }

    #[test]
    fn the_one_key_that_may_sign_does() {
        let new = private_value(Algorithm::Es256);
        let mut old = private_value(Algorithm::Rs256);
        old["key_ops"] = json!(["verify"]);

        let file = read(&[&old, &new]).unwrap();

        assert_eq!(file.signing.kid(), new["kid"].as_str());
        assert_eq!(file.verifying.len(), 1);
        assert_eq!(file.verifying[0].kid(), old["kid"].as_str());
    }

    #[test]
    fn a_single_key_need_not_say_what_it_may_do() {
        let mut key = private_value(Algorithm::Es256);
        key.as_object_mut().unwrap().remove("key_ops");

        assert_eq!(read(&[&key]).unwrap().signing.kid(), key["kid"].as_str());
    }

    #[test]
    fn a_key_that_only_checks_needs_no_private_half() {
        let new = private_value(Algorithm::Es256);
        let old = SigningKey::generate(Algorithm::Es256).unwrap();

        let file = read(&[&new, old.public_jwk().unwrap()]).unwrap();

        assert_eq!(file.verifying[0].kid(), old.kid());
    }

    #[test]
    fn none_or_several_signing_keys_are_rejected_with_their_number() {
        let (one, two) = (
            private_value(Algorithm::Es256),
            private_value(Algorithm::EdDsa),
        );
        let hs256 = private_value(Algorithm::Hs256);

        assert_eq!(read(&[]).unwrap_err(), KeyError::NotOneSigningKey(0));
        assert_eq!(
            read(&[&one, &two]).unwrap_err(),
            KeyError::NotOneSigningKey(2)
        );
        assert_eq!(
            read(&[&one, &two, &hs256]).unwrap_err(),
            KeyError::NotOneSigningKey(3)
        );
    }

    #[test]
    fn another_document_is_rejected_without_quoting_it() {
        let private = private_value(Algorithm::Es256)["d"]
            .as_str()
            .unwrap()
            .to_owned();
        let broken = format!("[\n{{\"kty\":\"EC\",\"d\":\"{private}\" oops");

        let error = KeyFile::from_json(&broken).unwrap_err();

        assert!(matches!(error, KeyError::NotAnArray { line: 2, .. }));
        assert!(!format!("{error} {error:?}").contains(&private));
        let object = KeyFile::from_json("{}").unwrap_err();
        assert!(matches!(object, KeyError::NotAnArray { line: 1, .. }));
    }
}
