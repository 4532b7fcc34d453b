//! Sessions, access tokens and refresh tokens (auth contract §3).

mod claims;
mod counted;
mod elevate;
mod issue;
mod refresh;
mod refresh_queue;
mod validity;

pub(crate) use claims::claims;
pub(crate) use elevate::{elevate, lower_aal};
pub(crate) use issue::{SignIn, TokenBody, TokenHeaders, issue_access_token, sign_in};
pub(crate) use refresh::refresh;
pub(crate) use refresh_queue::RefreshQueue;
pub(crate) use validity::find_end;
