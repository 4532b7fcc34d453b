//! From the text of a request to its meaning; no database is asked (rest contract §1–§3).
//!
//! `parse` takes the steps in the order whose first failure clients see: path, profile, method,
//! query string, ranges, body. The grammar of the query string's values is in `grammar`.

mod body;
mod grammar;
pub(crate) mod media_type;
mod parse;
pub(crate) mod preferences;
mod query;
pub(crate) mod range;
mod types;

pub(crate) use parse::{RequestParts, RequestRules, RootMode};
pub(crate) use types::*;

#[cfg(test)]
mod tests;
