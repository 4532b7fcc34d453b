//! What can go wrong with a call of a function (client contract R7).

use bytes::Bytes;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::auth::AuthError;
use crate::http::{Answer, TransportError};

/// A call of a function that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The function answered with a status that is no success (`FunctionsHttpError`).
    #[error("the function answered with status {}{}", .0.status, .0.reason())]
    Http(Box<Refusal>),
    /// The server could not hand the call to the function (`FunctionsRelayError`).
    #[error("the call did not reach the function: status {}{}", .0.status, .0.reason())]
    Relay(Box<Refusal>),
    /// There was no answer (`FunctionsFetchError`).
    #[error(transparent)]
    Fetch(#[from] TransportError),
    /// The session could not be refreshed for the call. It is not made in nobody's name instead.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// What was to be sent cannot be read.
    #[error("what is to be sent cannot be read: {0}")]
    Body(String),
    /// The function answered well, but not with what was expected.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    /// The call cannot be made as it was built.
    #[error("{0}")]
    InvalidInput(&'static str),
}

/// An answer that is no success, whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The answer's headers.
    pub headers: HeaderMap,
    /// The answer's body.
    pub body: Bytes,
}

impl FunctionError {
    /// Whether the same call may succeed in a moment. Calls that may not be repeated should not
    /// be, even so: the function may have done its work.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Relay(_) => true,
            Self::Auth(error) => error.is_retryable(),
            Self::Http(refusal) => {
                matches!(refusal.status, 408 | 429 | 502..=504 | 520..=530)
            }
            Self::Body(_) | Self::Unreadable(_) | Self::InvalidInput(_) => false,
        }
    }

    /// The HTTP status, where there was an answer.
    pub fn status(&self) -> Option<u16> {
        self.refusal().map(|refusal| refusal.status)
    }

    /// The answer that was no success.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Http(refusal) | Self::Relay(refusal) => Some(refusal),
            _ => None,
        }
    }

    pub(super) fn from_answer(answer: Answer) -> Self {
        let is_relays = is_relay_error(&answer.headers);
        let refusal = Box::new(Refusal {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        });
        match is_relays {
            true => Self::Relay(refusal),
            false => Self::Http(refusal),
        }
    }

    pub(super) fn unreadable(why: impl ToString) -> Self {
        Self::Unreadable(why.to_string())
    }
}

impl Refusal {
    /// The body as text; bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body, read as this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, FunctionError> {
        serde_json::from_slice(&self.body).map_err(FunctionError::unreadable)
    }

    /// Why the platform refused, in one word: `NOT_FOUND`, `BOOT_ERROR`, … Functions that answer
    /// with a failure of their own have none, or `EDGE_FUNCTION_ERROR`.
    pub fn code(&self) -> Option<String> {
        let header = self.headers.get("sb-error-code");
        let header = header.and_then(|code| code.to_str().ok());
        let body = || self.member("code");
        header.map(str::to_owned).or_else(body)
    }

    /// What the body says, if it says it the way the platform does.
    fn reason(&self) -> String {
        let message = self.member("message").or_else(|| self.member("error"));
        message.map_or_else(String::new, |message| format!(": {message}"))
    }

    fn member(&self, name: &str) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.get(name)?.as_str().map(str::to_owned)
    }
}

/// Whether the server says that it did not reach the function.
pub(super) fn is_relay_error(headers: &HeaderMap) -> bool {
    let mark = headers.get("x-relay-error");
    mark.is_some_and(|mark| mark == "true")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn answer(status: u16, header: Option<(&'static str, &str)>, body: &'static str) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, HeaderValue::from_str(value).unwrap());
        }
        Answer {
            status,
            headers,
            body: body.into(),
        }
    }

    #[test]
    fn the_header_tells_the_relays_errors_from_the_functions() {
        let of = |header| FunctionError::from_answer(answer(503, header, "x"));

        assert!(matches!(of(None), FunctionError::Http(_)));
        assert!(matches!(
            of(Some(("x-relay-error", "true"))),
            FunctionError::Relay(_)
        ));
        assert!(matches!(
            of(Some(("x-relay-error", "false"))),
            FunctionError::Http(_)
        ));
    }

    #[test]
    fn an_error_says_what_the_platform_said() {
        let body = r#"{"code":"NOT_FOUND","message":"Requested function was not found"}"#;
        let error = FunctionError::from_answer(answer(404, None, body));

        assert_eq!(
            error.to_string(),
            "the function answered with status 404: Requested function was not found"
        );
        assert_eq!(error.status(), Some(404));
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.code().as_deref(), Some("NOT_FOUND"));
        assert_eq!(refusal.json::<Value>().unwrap()["code"], "NOT_FOUND");

        let header = Some(("sb-error-code", "EDGE_FUNCTION_ERROR"));
        let error = FunctionError::from_answer(answer(500, header, "Internal Server Error"));
        assert_eq!(error.to_string(), "the function answered with status 500");
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.code().as_deref(), Some("EDGE_FUNCTION_ERROR"));
        assert_eq!(refusal.text(), "Internal Server Error");
    }
}
