//! The JSON form of keys (RFC 7517): reading, writing and the public half.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

use crate::algorithm::Algorithm;
use crate::encoding::{base64url, from_base64url};
use crate::error::KeyError;
use crate::key_algorithm::algorithm_of_key;

/// What a private key may do.
pub(crate) const SIGN_AND_VERIFY: [&str; 2] = ["sign", "verify"];

/// A JSON Web Key. Unknown members are ignored, as the standard requires.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Jwk {
    pub(crate) kty: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) alg: Option<String>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_ops: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crv: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) y: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) n: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) e: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) d: Option<PrivateMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p: Option<PrivateMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) q: Option<PrivateMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dp: Option<PrivateMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dq: Option<PrivateMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) qi: Option<PrivateMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) k: Option<PrivateMember>,
}

/// A base64url text, wiped from memory when dropped.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct PrivateMember(String);

impl PrivateMember {
    /// Ready to be put into a key.
    pub(crate) fn encode(bytes: &[u8]) -> Option<Self> {
        Some(Self(base64url(bytes)))
    }
}

impl Drop for PrivateMember {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Jwk {
    /// A key with only its id, algorithm and operations.
    pub(crate) fn new(algorithm: Algorithm, kid: Option<String>, key_ops: &[&str]) -> Self {
        Self {
            kty: algorithm.key_type().to_owned(),
            kid,
            alg: Some(algorithm.name().to_owned()),
            usage: Some("sig".to_owned()),
            key_ops: Some(
                key_ops
                    .iter()
                    .map(|&operation| operation.to_owned())
                    .collect(),
            ),
            ..Self::default()
        }
    }

    /// The public part. Built member by member, so that nothing private slips through; shared secrets have
    /// none.
    pub(crate) fn public_half(&self, algorithm: Algorithm) -> Option<Value> {
        if algorithm.is_symmetric() {
            return None;
        }
        let public = Self {
            crv: self.crv.clone(),
            x: self.x.clone(),
            y: self.y.clone(),
            n: self.n.clone(),
            e: self.e.clone(),
            ..Self::new(algorithm, self.kid.clone(), &["verify"])
        };
        Some(serde_json::to_value(public).expect("a struct of texts is always valid JSON"))
    }

    pub(crate) fn algorithm(&self) -> Result<Algorithm, KeyError> {
        algorithm_of_key(&self.kty, self.crv.as_deref(), self.alg.as_deref())
    }

    /// Whether `key_ops` allows signing. Without `key_ops` it does.
    pub(crate) fn may_sign(&self) -> bool {
        self.key_ops
            .as_ref()
            .is_none_or(|operations| operations.iter().any(|op| op == "sign"))
    }
}

/// The bytes of a public member.
pub(crate) fn public_member(
    name: &'static str,
    member: Option<&String>,
) -> Result<Vec<u8>, KeyError> {
    let text = member.ok_or(KeyError::MissingMember(name))?;
    from_base64url(text).ok_or(KeyError::MalformedMember(name))
}

/// The bytes of a private member, wiped when dropped.
pub(crate) fn private_member(
    name: &'static str,
    member: Option<&PrivateMember>,
) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let text = member.ok_or(KeyError::MissingMember(name))?;
    from_base64url(&text.0)
        .map(Zeroizing::new)
        .ok_or(KeyError::MalformedMember(name))
}
