//! The name of one request, the same in every log line and in the answer's `x-request-id`.

use std::{fmt, sync::Arc};

/// Given by the gateway to each request, as an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
