//! OpenID Connect: where a provider's endpoints and keys are, and whether a token is its own.

mod discovery;
mod id_token;

pub(crate) use discovery::Discovery;
pub(super) use discovery::{Document, well_known};
pub(super) use id_token::{Expected, IdTokenError, claimed_issuer, verify};
