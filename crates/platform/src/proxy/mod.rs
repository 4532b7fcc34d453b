//! Calls of a project's services for operators (console contract §2.8, service proxy).
//!
//! Here it is decided what a call may do and as whom; `api/proxy.rs` is its HTTP side, and the gateway
//! carries it out. Nothing of the operator's own credential or cookies is passed on.

mod credentials;
mod headers;
mod subject;
mod target;

pub(crate) use credentials::Proof;
pub(crate) use headers::{clean, query_value, without_query_values};
pub(crate) use subject::Subject;
pub(crate) use target::{Need, Target};
