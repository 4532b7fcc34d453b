//! Second factors: enrol, challenge, verify, remove (auth contract §2.10, §4).

pub(crate) mod admin;
mod assurance;
mod challenge;
mod enrol;
mod remove;
mod sent_code;
mod totp;
mod verify;
mod webauthn;

pub(crate) use assurance::{check_not_anonymous, lacks_assurance};
pub(crate) use challenge::challenge;
pub(crate) use enrol::enrol;
pub(crate) use remove::remove;
pub(crate) use verify::verify;
