//! Options for browsers, as JSON (`parseCreationOptionsFromJSON` and
//! `parseRequestOptionsFromJSON`).

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::{RelyingParty, cose::ALGORITHMS};

/// The user of the new credential.
pub(crate) struct WebAuthnUser<'a> {
    /// The user handle, which the authenticator returns.
    pub(crate) handle: &'a str,
    pub(crate) name: &'a str,
    pub(crate) display_name: &'a str,
}

/// Whether the credential must be discoverable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResidentKey {
    Discouraged,
    Required,
}

/// For `create()`.
pub(crate) struct CreationOptions<'a> {
    pub(crate) party: &'a RelyingParty,
    pub(crate) user: WebAuthnUser<'a>,
    pub(crate) challenge: &'a str,
    pub(crate) resident_key: ResidentKey,
    /// The user's existing credentials.
    pub(crate) exclude: &'a [(Vec<u8>, Vec<String>)],
    pub(crate) lifetime: Duration,
}

impl CreationOptions<'_> {
    pub(crate) fn to_json(&self) -> Value {
        let algorithms = ALGORITHMS.map(|alg| json!({ "type": "public-key", "alg": alg }));
        let (resident_key, is_required) = match self.resident_key {
            ResidentKey::Discouraged => ("discouraged", false),
            ResidentKey::Required => ("required", true),
        };
        json!({
            "rp": { "id": self.party.id, "name": self.party.name },
            "user": {
                "id": BASE64URL_NOPAD.encode(self.user.handle.as_bytes()),
                "name": self.user.name,
                "displayName": self.user.display_name,
            },
            "challenge": self.challenge,
            "pubKeyCredParams": algorithms,
            "timeout": milliseconds(self.lifetime),
            "excludeCredentials": descriptors(self.exclude),
            "authenticatorSelection": {
                "residentKey": resident_key,
                "requireResidentKey": is_required,
                "userVerification": "preferred",
            },
            "attestation": "none",
        })
    }
}

/// For `get()`; without credentials, the authenticator offers its discoverable ones.
pub(crate) fn request_options(
    party: &RelyingParty,
    challenge: &str,
    allow: &[(Vec<u8>, Vec<String>)],
    lifetime: Duration,
) -> Value {
    json!({
        "challenge": challenge,
        "timeout": milliseconds(lifetime),
        "rpId": party.id,
        "allowCredentials": descriptors(allow),
        "userVerification": "preferred",
    })
}

fn descriptors(credentials: &[(Vec<u8>, Vec<String>)]) -> Value {
    let described = credentials.iter().map(|(id, transports)| {
        let mut described = json!({ "type": "public-key", "id": BASE64URL_NOPAD.encode(id) });
        if !transports.is_empty() {
            described["transports"] = json!(transports);
        }
        described
    });
    described.collect()
}

fn milliseconds(lifetime: Duration) -> u64 {
    u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX)
}
