//! Web Authentication, level 3: verification of responses. Independent of HTTP and the database,
//! which `mfa/` and `passkeys/` use.
//!
//! No attestation is requested and no manufacturer is trusted, so a statement is checked only if it
//! is signed with the credential's own key. Any other statement counts as none.

mod assertion;
mod attestation;
mod authenticator_data;
mod client_data;
mod cose;
mod credential;
mod options;
mod relying_party;
mod response;
#[cfg(test)]
mod test_key;
#[cfg(test)]
mod vectors;

pub(crate) use assertion::check_assertion;
pub(crate) use attestation::check_registration;
pub(crate) use credential::Credential;
pub(crate) use options::{CreationOptions, ResidentKey, WebAuthnUser, request_options};
pub(crate) use relying_party::RelyingParty;
pub(crate) use response::{AssertionResponse, RegistrationResponse};

/// Why a ceremony failed. For the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CeremonyError(&'static str);

/// A new challenge, base64url-encoded.
pub(crate) fn new_challenge() -> String {
    crate::random::url_text::<32>()
}
