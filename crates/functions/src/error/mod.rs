//! Errors that the service responds with in place of a function (functions contract §4, §5).

mod code;

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ALLOW, RETRY_AFTER,
    },
};
use serde_json::json;

pub(crate) use self::code::ErrorCode;
pub use self::code::error_reference;
use crate::verify::CredentialError;

pub(crate) const ERROR_CODE: HeaderName = HeaderName::from_static("sb-error-code");
pub(crate) const RELAY_ERROR: HeaderName = HeaderName::from_static("x-relay-error");

/// Why a function did not respond itself.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum FunctionError {
    #[error("Requested function was not found")]
    NotFound,
    #[error("Method not allowed")]
    MethodNotAllowed,
    #[error("{cause}")]
    Unauthorized {
        cause: CredentialError,
        /// Whether it is marked with `x-relay-error`.
        is_relay_error: bool,
    },
    #[error("The request body is larger than {max_bytes} bytes")]
    BodyTooLarge { max_bytes: u64 },
    /// The detail is for the developer of the function, and absent in production.
    #[error("{}", boot_message(.detail.as_deref()))]
    Boot {
        detail: Option<String>,
        /// Whether the function is not to blame, and another attempt may succeed.
        is_transient: bool,
    },
    /// It failed to boot so often that it is not started again yet.
    #[error("{}", boot_message(.detail.as_deref()))]
    BackingOff {
        detail: Option<String>,
        retry_after: Duration,
    },
    #[error("Function exited due to an error (please check logs)")]
    WorkerDied,
    #[error("Request idle timeout limit ({}s) reached", .limit.as_secs())]
    IdleTimeout { limit: Duration },
    #[error("Function failed due to not having enough compute resources (please check logs)")]
    ResourceLimit,
    #[error("Function returned an invalid HTTP status code (please check logs)")]
    InvalidStatus,
    /// No worker could take the request in time.
    #[error("No worker was free to take the request")]
    NoCapacity,
    /// The connection to the worker failed for an unknown reason.
    #[error("The function could not be reached")]
    Unreachable,
    #[error("The function's deployment could not be read")]
    Unreadable,
}

fn boot_message(detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("Function failed to start: {detail}"),
        None => "Function failed to start (please check logs)".to_owned(),
    }
}

impl FunctionError {
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::NotFound,
            Self::MethodNotAllowed => ErrorCode::MethodNotAllowed,
            Self::Unauthorized { cause, .. } => match cause {
                CredentialError::Missing => ErrorCode::NoCredential,
                CredentialError::Malformed | CredentialError::UnknownKey => {
                    ErrorCode::MalformedCredential
                }
                CredentialError::LegacyKeyDisabled | CredentialError::InvalidLegacyToken => {
                    ErrorCode::InvalidLegacyToken
                }
                CredentialError::InvalidAsymmetricToken => ErrorCode::InvalidAsymmetricToken,
                CredentialError::UnsupportedAlgorithm(_) => ErrorCode::UnsupportedAlgorithm,
            },
            Self::BodyTooLarge { .. } => ErrorCode::BodyTooLarge,
            Self::Boot { .. } | Self::BackingOff { .. } => ErrorCode::BootError,
            Self::WorkerDied => ErrorCode::WorkerError,
            Self::IdleTimeout { .. } => ErrorCode::IdleTimeout,
            Self::ResourceLimit => ErrorCode::ResourceLimit,
            Self::InvalidStatus => ErrorCode::InvalidStatus,
            Self::NoCapacity => ErrorCode::NoCapacity,
            Self::Unreachable => ErrorCode::Unreachable,
            Self::Unreadable => ErrorCode::Unreadable,
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.code().status()
    }

    /// Whether a boot failed because of the function's code, and will fail again.
    pub(crate) fn is_caused_by_function(&self) -> bool {
        matches!(
            self,
            Self::Boot {
                is_transient: false,
                ..
            }
        )
    }

    fn is_relay_error(&self) -> bool {
        match self {
            Self::NoCapacity | Self::Unreachable => true,
            Self::Unauthorized { is_relay_error, .. } => *is_relay_error,
            _ => false,
        }
    }
}

impl IntoResponse for FunctionError {
    fn into_response(self) -> Response {
        let (code, message) = (self.code().as_str(), self.to_string());
        let body = match &self {
            // Older clients read `msg`.
            Self::Unauthorized { .. } => {
                json!({ "code": code, "message": message, "msg": message })
            }
            _ => json!({ "code": code, "message": message }),
        };
        let mut response = (self.status(), Json(body)).into_response();
        let headers = response.headers_mut();
        allow_any_origin(headers);
        headers.insert(ERROR_CODE, HeaderValue::from_static(code));
        if self.is_relay_error() {
            headers.insert(RELAY_ERROR, HeaderValue::from_static("true"));
        }
        match self {
            Self::MethodNotAllowed => {
                let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
                headers.insert(ALLOW, HeaderValue::from_static(methods));
            }
            Self::BackingOff { retry_after, .. } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(retry_after.as_secs().max(1)));
            }
            _ => {}
        }
        response
    }
}

/// Without it, browsers hide our errors from scripts.
fn allow_any_origin(headers: &mut HeaderMap) {
    let allowed = "authorization, x-client-info, apikey";
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(allowed),
    );
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("sb-error-code"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_can_be_read_by_scripts_of_any_origin() {
        let response = FunctionError::NotFound.into_response();

        let headers = response.headers();
        assert_eq!(response.status(), 404);
        assert_eq!(headers[ERROR_CODE], "NOT_FOUND");
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert_eq!(headers[ACCESS_CONTROL_EXPOSE_HEADERS], "sb-error-code");
        assert!(!headers.contains_key(RELAY_ERROR));
    }

    #[test]
    fn only_errors_of_the_relay_are_marked_as_such() {
        let is_marked =
            |error: FunctionError| error.into_response().headers().contains_key(RELAY_ERROR);

        assert!(is_marked(FunctionError::NoCapacity));
        assert!(is_marked(FunctionError::Unreachable));
        assert!(!is_marked(FunctionError::WorkerDied));
        assert!(!is_marked(FunctionError::ResourceLimit));
        let unauthorized = |is_relay_error| FunctionError::Unauthorized {
            cause: CredentialError::Missing,
            is_relay_error,
        };
        assert!(is_marked(unauthorized(true)) && !is_marked(unauthorized(false)));
    }

    #[test]
    fn the_idle_limit_stands_in_its_message() {
        let limit = Duration::from_secs(7);
        let error = FunctionError::IdleTimeout { limit };

        assert_eq!(error.to_string(), "Request idle timeout limit (7s) reached");
    }
}
