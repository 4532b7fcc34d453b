//! What browsers are asked for, as JSON (`parseCreationOptionsFromJSON` and its sibling).

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Value, json};

use super::{
    RelyingParty,
    cose::{EDDSA, ES256, RS256},
};

/// Whose credential it will be.
pub(crate) struct Person<'a> {
    /// What the authenticator gives back to name them.
    pub(crate) handle: &'a str,
    pub(crate) name: &'a str,
    pub(crate) display_name: &'a str,
}

/// Whether the authenticator must be able to name the person by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResidentKey {
    Discouraged,
    Required,
}

/// For `create()`.
pub(crate) struct CreationOptions<'a> {
    pub(crate) party: &'a RelyingParty,
    pub(crate) person: Person<'a>,
    pub(crate) challenge: &'a str,
    pub(crate) resident_key: ResidentKey,
    /// Credentials that the person has already.
    pub(crate) exclude: &'a [(Vec<u8>, Vec<String>)],
    pub(crate) lifetime: Duration,
}

impl CreationOptions<'_> {
    pub(crate) fn to_json(&self) -> Value {
        let algorithms = [ES256, EDDSA, RS256];
        let algorithms = algorithms.map(|alg| json!({ "type": "public-key", "alg": alg }));
        let (resident_key, is_required) = match self.resident_key {
            ResidentKey::Discouraged => ("discouraged", false),
            ResidentKey::Required => ("required", true),
        };
        json!({
            "rp": { "id": self.party.id, "name": self.party.name },
            "user": {
                "id": BASE64URL_NOPAD.encode(self.person.handle.as_bytes()),
                "name": self.person.name,
                "displayName": self.person.display_name,
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

/// For `get()`; with no credentials named, the authenticator offers those that it knows.
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
