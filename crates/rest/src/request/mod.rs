//! Parses HTTP requests into [`ApiRequest`], without the schema cache (rest contract §1–§3).
//!
//! `parse` goes from path to profile, method, query string, ranges and body, in this order, because
//! clients see the first error. The grammar of the query string's values is in `grammar`.

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
