//! The id of a request, in log records and in the response's `x-request-id`.

use std::{fmt, sync::Arc};

/// An extension of every request, set by the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
