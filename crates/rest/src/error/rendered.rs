//! An error as status, headers and body.

use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

/// The response to a request that failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendered {
    pub(crate) status: StatusCode,
    /// The reason phrase of the status line, where the database chose one.
    pub(crate) reason: Option<String>,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) details: Value,
    pub(crate) hint: Value,
    /// In addition to those that every error has.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Rendered {
    /// JSON with all four keys, or only code and message (`client-error-verbosity = minimal`).
    pub(crate) fn body(&self, is_verbose: bool) -> String {
        let body = if is_verbose {
            json!({
                "code": self.code,
                "details": self.details,
                "hint": self.hint,
                "message": self.message,
            })
        } else {
            json!({ "code": self.code, "message": self.message })
        };
        body.to_string()
    }
}

/// For errors that are likely to pass.
pub(super) fn retry_after(status: StatusCode) -> Vec<(HeaderName, HeaderValue)> {
    match status {
        StatusCode::SERVICE_UNAVAILABLE => {
            vec![(http::header::RETRY_AFTER, HeaderValue::from_static("1"))]
        }
        _ => Vec::new(),
    }
}
