//! Errors of the database API (client contract R7).

use serde_json::Value;

use crate::auth::AuthError;
use crate::http::{HttpResponse, TransportError};

/// A failed request to the database API.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct RestError {
    /// PostgREST's `PGRST…`, an SQLSTATE, or empty for client-side errors.
    pub code: String,
    /// The message.
    pub message: String,
    /// The details.
    pub details: Option<String>,
    /// The hint.
    pub hint: Option<String>,
    /// The HTTP status; 0 without a response.
    pub status: u16,
}

impl RestError {
    /// Whether a retry may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self.status, 0 | 503 | 520)
    }

    /// A client-side error.
    pub(crate) fn local(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    pub(crate) fn from_response(response: &HttpResponse) -> Self {
        let text = response.text();
        let body = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(body)) => body,
            _ => {
                return Self {
                    message: text.into_owned(),
                    status: response.status,
                    ..Self::default()
                };
            }
        };
        let member = |name: &str| match body.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            None | Some(Value::Null) => None,
            Some(other) => Some(other.to_string()),
        };
        Self {
            code: member("code").unwrap_or_default(),
            message: member("message").unwrap_or_else(|| text.clone().into_owned()),
            details: member("details"),
            hint: member("hint"),
            status: response.status,
        }
    }
}

impl From<TransportError> for RestError {
    fn from(error: TransportError) -> Self {
        Self::local(error.to_string())
    }
}

/// The session could not be refreshed. The request is not sent anonymously instead: the result would look like an
/// empty table.
impl From<AuthError> for RestError {
    fn from(error: AuthError) -> Self {
        Self {
            status: error
                .status()
                .filter(|_| !error.is_retryable())
                .unwrap_or_default(),
            ..Self::local(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: &'static str) -> RestError {
        RestError::from_response(&HttpResponse {
            status,
            headers: Default::default(),
            body: body.into(),
        })
    }

    #[test]
    fn an_error_has_the_members_of_its_body() {
        let error = response(
            404,
            r#"{"code":"PGRST205","message":"m","details":null,"hint":"h"}"#,
        );

        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("PGRST205", "m")
        );
        assert_eq!((error.details, error.hint.as_deref()), (None, Some("h")));
        assert_eq!(error.status, 404);
    }

    #[test]
    fn a_body_that_is_not_json_is_the_message() {
        let error = response(502, "Bad Gateway");

        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("", "Bad Gateway")
        );
    }

    #[test]
    fn transient_errors_are_retryable() {
        assert!(response(503, "").is_retryable());
        assert!(response(520, r#"{"code":"X"}"#).is_retryable());
        assert!(RestError::from(TransportError::new("lost")).is_retryable());
        assert!(!response(500, "").is_retryable());
        assert!(!response(401, r#"{"code":"PGRST301"}"#).is_retryable());
    }
}
