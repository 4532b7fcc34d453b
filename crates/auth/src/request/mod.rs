//! Extractors: context, caller's token, query, body, page and time limit of a request.

mod bearer;
mod body;
mod context;
pub(crate) mod page;
mod query;
mod time_limit;

pub(crate) use bearer::verified_caller;
pub(crate) use body::{Input, MetaSecurity, RequiredInput, parse_json, read_body};
pub(crate) use context::RequestContext;
pub(crate) use query::Query;
pub(crate) use time_limit::limit_time;
