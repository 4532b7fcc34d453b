//! What can go wrong with the database API (client contract R7).

use serde_json::Value;

use crate::auth::AuthError;
use crate::http::{Answer, TransportError};

/// A failed request to the database API.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct RestError {
    /// PostgREST's `PGRST…`, an SQLSTATE, or empty for failures on this side.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// More about it.
    pub details: Option<String>,
    /// What may help.
    pub hint: Option<String>,
    /// The HTTP status; 0 where there was no answer.
    pub status: u16,
}

impl RestError {
    /// Whether the same request may succeed in a moment.
    pub fn is_retryable(&self) -> bool {
        matches!(self.status, 0 | 503 | 520)
    }

    /// A failure on this side.
    pub(crate) fn local(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    pub(crate) fn from_answer(answer: &Answer) -> Self {
        let text = answer.text();
        let body = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(body)) => body,
            _ => {
                return Self {
                    message: text.into_owned(),
                    status: answer.status,
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
            status: answer.status,
        }
    }
}

impl From<TransportError> for RestError {
    fn from(error: TransportError) -> Self {
        Self::local(error.to_string())
    }
}

/// The session could not be refreshed for the request. It is not sent in nobody's name instead:
/// the answer would look like an empty table.
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

    fn answer(status: u16, body: &'static str) -> RestError {
        RestError::from_answer(&Answer {
            status,
            headers: Default::default(),
            body: body.into(),
        })
    }

    #[test]
    fn an_error_has_the_members_of_its_body() {
        let error = answer(
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
        let error = answer(502, "Bad Gateway");

        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("", "Bad Gateway")
        );
    }

    #[test]
    fn trouble_of_the_moment_is_retryable() {
        assert!(answer(503, "").is_retryable());
        assert!(answer(520, r#"{"code":"X"}"#).is_retryable());
        assert!(RestError::from(TransportError::new("lost")).is_retryable());
        assert!(!answer(500, "").is_retryable());
        assert!(!answer(401, r#"{"code":"PGRST301"}"#).is_retryable());
    }
}
