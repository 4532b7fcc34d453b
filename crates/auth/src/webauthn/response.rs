//! Responses of `navigator.credentials` as JSON (`toJSON()` of a public key credential).

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Deserializer, de::Error};

/// Base64url, optionally padded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Binary(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = BASE64URL_NOPAD.decode(text.trim_end_matches('=').as_bytes());
        bytes.map(Self).map_err(D::Error::custom)
    }
}

/// Of `create()`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RegistrationResponse {
    pub(super) raw_id: Binary,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) response: Attestation,
}

#[derive(Debug, Deserialize)]
pub(super) struct Attestation {
    #[serde(rename = "clientDataJSON")]
    pub(super) client_data: Binary,
    #[serde(rename = "attestationObject")]
    pub(super) attestation_object: Binary,
    pub(super) transports: Option<Vec<String>>,
}

/// Of `get()`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssertionResponse {
    pub(super) raw_id: Binary,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) response: Assertion,
}

#[derive(Debug, Deserialize)]
pub(super) struct Assertion {
    #[serde(rename = "clientDataJSON")]
    pub(super) client_data: Binary,
    #[serde(rename = "authenticatorData")]
    pub(super) authenticator_data: Binary,
    pub(super) signature: Binary,
    #[serde(rename = "userHandle")]
    pub(super) user_handle: Option<Binary>,
}

impl AssertionResponse {
    /// The id of the credential that signed.
    pub(crate) fn credential_id(&self) -> &[u8] {
        &self.raw_id.0
    }

    /// The user handle given at registration.
    pub(crate) fn user_handle(&self) -> Option<&[u8]> {
        let handle = self.response.user_handle.as_ref()?;
        Some(&handle.0)
    }
}
