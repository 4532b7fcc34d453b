//! Signing in and staying so: sessions, access tokens, refresh tokens (auth contract §3).

mod chained;
mod claims;
mod counted;
mod elevate;
mod issue;
mod refresh;
mod turns;
mod validity;

pub(crate) use elevate::{elevate, lower};
pub(crate) use issue::{SignIn, TokenBody, TokenHeaders, issue_access_token, sign_in};
pub(crate) use refresh::refresh;
pub(crate) use turns::Turns;
pub(crate) use validity::check_valid;
