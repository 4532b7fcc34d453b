//! Web Authentication, level 3: what browsers and security keys answer, checked. Nothing here knows
//! of HTTP or of the database; `mfa/` and `passkeys/` do.
//!
//! We ask for no attestation and trust no maker of authenticators, so a statement is checked only
//! where it is signed with the credential's own key. Any other counts as none: it could prove
//! nothing to us.

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

pub(crate) use assertion::check_assertion;
pub(crate) use attestation::check_registration;
pub(crate) use credential::Credential;
pub(crate) use options::{CreationOptions, Person, ResidentKey, request_options};
pub(crate) use relying_party::RelyingParty;
pub(crate) use response::{AssertionResponse, RegistrationResponse};

/// Why a ceremony failed; for logs, since whoever made a mistake cannot mend it by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(&'static str);

/// A fresh challenge, as it travels.
pub(crate) fn new_challenge() -> String {
    crate::random::url_text::<32>()
}
