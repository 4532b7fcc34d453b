//! What a request says, before anything is done about it.

mod bearer;
mod body;
pub(crate) mod contact;
mod context;
mod pkce;
mod query;
pub(crate) mod redirect;
mod time_limit;

pub(crate) use bearer::{Admin, OnBehalf, SignedIn, require_key};
pub(crate) use body::{Input, MetaSecurity, body_of, parse_json};
pub(crate) use context::Context;
pub(crate) use pkce::{Challenge, ChallengeMethod};
pub(crate) use query::Query;
pub(crate) use time_limit::limit_time;
