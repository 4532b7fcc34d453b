//! The client data of a response: ceremony type, origin and challenge.

use serde::Deserialize;
use subtle::ConstantTimeEq;

use super::{CeremonyError, RelyingParty};

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

/// Rejects another ceremony, challenge or origin, and cross-origin frames.
pub(super) fn check(
    json: &[u8],
    kind: &str,
    challenge: &str,
    party: &RelyingParty,
) -> Result<(), CeremonyError> {
    let data: ClientData =
        serde_json::from_slice(json).map_err(|_| CeremonyError("the client data are no JSON"))?;
    if data.kind != kind {
        return Err(CeremonyError("the client data are of another ceremony"));
    }
    let shown = data.challenge.trim_end_matches('=');
    if challenge.is_empty() || !bool::from(shown.as_bytes().ct_eq(challenge.as_bytes())) {
        return Err(CeremonyError("the challenge is another one"));
    }
    if !party.is_origin(&data.origin) {
        return Err(CeremonyError("the origin is not one of ours"));
    }
    if data.cross_origin {
        return Err(CeremonyError("the page was in a frame of another site"));
    }
    Ok(())
}
