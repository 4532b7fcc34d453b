//! Errors of function calls (client contract R7).

use bytes::Bytes;
use http::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::auth::AuthError;
use crate::http::{HttpResponse, TransportError};

/// A failed function call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The function responded with an error status (`FunctionsHttpError`).
    #[error("the function responded with status {}{}", .0.status, .0.reason())]
    Http(Box<FunctionErrorResponse>),
    /// The server could not reach the function (`FunctionsRelayError`).
    #[error("the call did not reach the function: status {}{}", .0.status, .0.reason())]
    Relay(Box<FunctionErrorResponse>),
    /// There was no response (`FunctionsFetchError`).
    #[error(transparent)]
    Fetch(#[from] TransportError),
    /// The session could not be refreshed. The call is not made anonymously instead.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The body could not be read.
    #[error("the body to be sent cannot be read: {0}")]
    Body(String),
    /// A successful response that could not be decoded.
    #[error("the response cannot be decoded: {0}")]
    Unreadable(String),
    /// The call is invalid.
    #[error("{0}")]
    InvalidInput(&'static str),
}

/// An error response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FunctionErrorResponse {
    /// The HTTP status.
    pub status: u16,
    /// The response headers.
    pub headers: HeaderMap,
    /// The response body.
    pub body: Bytes,
}

impl FunctionError {
    /// Whether a retry may succeed. Calls that are not idempotent should not be retried even so: the function may
    /// have run.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Relay(_) => true,
            Self::Auth(error) => error.is_retryable(),
            Self::Http(response) => {
                matches!(response.status, 408 | 429 | 502..=504 | 520..=530)
            }
            Self::Body(_) | Self::Unreadable(_) | Self::InvalidInput(_) => false,
        }
    }

    /// The HTTP status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        self.response().map(|response| response.status)
    }

    /// The error response.
    pub fn response(&self) -> Option<&FunctionErrorResponse> {
        match self {
            Self::Http(response) | Self::Relay(response) => Some(response),
            _ => None,
        }
    }

    pub(super) fn from_response(http_response: HttpResponse) -> Self {
        let is_relays = is_relay_error(&http_response.headers);
        let response = Box::new(FunctionErrorResponse {
            status: http_response.status,
            headers: http_response.headers,
            body: http_response.body,
        });
        if is_relays {
            Self::Relay(response)
        } else {
            Self::Http(response)
        }
    }

    pub(super) fn unreadable(why: impl ToString) -> Self {
        Self::Unreadable(why.to_string())
    }
}

impl FunctionErrorResponse {
    /// The body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body, deserialized as this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, FunctionError> {
        serde_json::from_slice(&self.body).map_err(FunctionError::unreadable)
    }

    /// The platform's error code: `NOT_FOUND`, `BOOT_ERROR`, … Errors of the function itself have none, or
    /// `EDGE_FUNCTION_ERROR`.
    pub fn code(&self) -> Option<String> {
        let header = self.headers.get("sb-error-code");
        let header = header.and_then(|code| code.to_str().ok());
        let body = || self.member("code");
        header.map(str::to_owned).or_else(body)
    }

    /// The message of the platform's error body.
    fn reason(&self) -> String {
        let message = self.member("message").or_else(|| self.member("error"));
        message.map_or_else(String::new, |message| format!(": {message}"))
    }

    fn member(&self, name: &str) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.get(name)?.as_str().map(str::to_owned)
    }
}

/// Whether the relay reports that it did not reach the function.
pub(super) fn is_relay_error(headers: &HeaderMap) -> bool {
    let mark = headers.get("x-relay-error");
    mark.is_some_and(|mark| mark == "true")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn http_response(
        status: u16,
        header: Option<(&'static str, &str)>,
        body: &'static str,
    ) -> HttpResponse {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, HeaderValue::from_str(value).unwrap());
        }
        HttpResponse {
            status,
            headers,
            body: body.into(),
        }
    }

    #[test]
    fn the_header_distinguishes_errors_of_relay_and_function() {
        let of = |header| FunctionError::from_response(http_response(503, header, "x"));

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
        let error = FunctionError::from_response(http_response(404, None, body));

        assert_eq!(
            error.to_string(),
            "the function responded with status 404: Requested function was not found"
        );
        assert_eq!(error.status(), Some(404));
        let response = error.response().unwrap();
        assert_eq!(response.code().as_deref(), Some("NOT_FOUND"));
        assert_eq!(response.json::<Value>().unwrap()["code"], "NOT_FOUND");

        let header = Some(("sb-error-code", "EDGE_FUNCTION_ERROR"));
        let error =
            FunctionError::from_response(http_response(500, header, "Internal Server Error"));
        assert_eq!(error.to_string(), "the function responded with status 500");
        let response = error.response().unwrap();
        assert_eq!(response.code().as_deref(), Some("EDGE_FUNCTION_ERROR"));
        assert_eq!(response.text(), "Internal Server Error");
    }
}
