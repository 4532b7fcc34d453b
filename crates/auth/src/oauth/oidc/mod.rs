//! OpenID Connect: discovery, keys and verification of ID tokens.

mod discovery;
mod id_token;
mod unverified;

pub(crate) use discovery::Discovery;
pub(super) use discovery::{Document, well_known_url};
pub(super) use id_token::{Expected, IdTokenError, verify};
pub(super) use unverified::{check_unverified, claimed_issuer};
