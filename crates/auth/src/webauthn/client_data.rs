//! What the browser says about the ceremony: for whom, where and in answer to what.

use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::{Refusal, RelyingParty};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
}

/// Refuses another ceremony, another challenge, another site, and pages that sit in a frame of
/// another.
pub(super) fn check(
    json: &[u8],
    kind: &str,
    challenge: &str,
    party: &RelyingParty,
) -> Result<(), Refusal> {
    let data: ClientData =
        serde_json::from_slice(json).map_err(|_| Refusal("the client data are no JSON"))?;
    if data.kind != kind {
        return Err(Refusal("the client data are of another ceremony"));
    }
    let shown = data.challenge.trim_end_matches('=');
    if challenge.is_empty() || !bool::from(shown.as_bytes().ct_eq(challenge.as_bytes())) {
        return Err(Refusal("the challenge is another one"));
    }
    if !party.is_origin(&data.origin) {
        return Err(Refusal("the origin is not one of ours"));
    }
    if data.cross_origin {
        return Err(Refusal("the page was in a frame of another site"));
    }
    Ok(())
}
