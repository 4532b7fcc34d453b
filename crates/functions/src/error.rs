//! Every answer that the service gives in a function's place (functions contract §4, §5).

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

use crate::verify::Refusal;

pub(crate) const ERROR_CODE: HeaderName = HeaderName::from_static("sb-error-code");
pub(crate) const RELAY_ERROR: HeaderName = HeaderName::from_static("x-relay-error");

/// Why a function did not answer itself.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum FunctionError {
    #[error("Requested function was not found")]
    NotFound,
    #[error("Method not allowed")]
    MethodNotAllowed,
    #[error("{}", .refusal.message())]
    Refused {
        refusal: Refusal,
        /// Whether clients are to take it for the relay's.
        is_marked: bool,
    },
    #[error("The request body is larger than {max_bytes} bytes")]
    BodyTooLarge { max_bytes: u64 },
    /// With the runtime's own words for whoever develops the function.
    #[error("{}", boot_message(.told.as_deref()))]
    Boot {
        told: Option<String>,
        /// Whether it did not end, and may serve where there is less to do.
        is_passing: bool,
    },
    /// It failed so often that it is not started again yet.
    #[error("{}", boot_message(.told.as_deref()))]
    BackingOff {
        told: Option<String>,
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
    /// The way to the worker broke, and nobody knows why.
    #[error("The function could not be reached")]
    Unreachable,
    #[error("The function's deployment could not be read")]
    Unreadable,
}

fn boot_message(told: Option<&str>) -> String {
    match told {
        Some(told) => format!("Function failed to start: {told}"),
        None => "Function failed to start (please check logs)".to_owned(),
    }
}

impl FunctionError {
    /// The code in body, header and log.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::Refused { refusal, .. } => refusal.code(),
            Self::BodyTooLarge { .. } => "PAYLOAD_TOO_LARGE",
            Self::Boot { .. } | Self::BackingOff { .. } => "BOOT_ERROR",
            Self::WorkerDied => "WORKER_ERROR",
            Self::IdleTimeout { .. } => "IDLE_TIMEOUT",
            Self::ResourceLimit => "WORKER_RESOURCE_LIMIT",
            Self::InvalidStatus => "INVALID_RESPONSE_STATUS_CODE",
            Self::NoCapacity => "NO_WORKER_AVAILABLE",
            Self::Unreachable => "WORKER_UNREACHABLE",
            Self::Unreadable => "LOAD_FUNCTION_ERROR",
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Refused { .. } => StatusCode::UNAUTHORIZED,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Boot { .. } | Self::BackingOff { .. } | Self::NoCapacity => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::WorkerDied | Self::Unreadable | Self::InvalidStatus => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::IdleTimeout { .. } => StatusCode::GATEWAY_TIMEOUT,
            Self::ResourceLimit => {
                StatusCode::from_u16(546).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            Self::Unreachable => StatusCode::BAD_GATEWAY,
        }
    }

    /// Whether a start failed for what the function is, and will fail again.
    pub(crate) fn is_functions_fault(&self) -> bool {
        matches!(
            self,
            Self::Boot {
                is_passing: false,
                ..
            }
        )
    }

    fn is_of_relay(&self) -> bool {
        match self {
            Self::NoCapacity | Self::Unreachable => true,
            Self::Refused { is_marked, .. } => *is_marked,
            _ => false,
        }
    }
}

impl IntoResponse for FunctionError {
    fn into_response(self) -> Response {
        let (code, message) = (self.code(), self.to_string());
        let body = match &self {
            // Three generations of readers look for it under three names.
            Self::Refused { .. } => json!({ "code": code, "message": message, "msg": message }),
            _ => json!({ "code": code, "message": message }),
        };
        let mut response = (self.status(), Json(body)).into_response();
        let headers = response.headers_mut();
        allow_any_origin(headers);
        headers.insert(ERROR_CODE, HeaderValue::from_static(code));
        if self.is_of_relay() {
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

/// Else browsers would show scripts nothing of our answers.
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
    fn our_answers_can_be_read_by_scripts_of_any_origin() {
        let response = FunctionError::NotFound.into_response();

        let headers = response.headers();
        assert_eq!(response.status(), 404);
        assert_eq!(headers[ERROR_CODE], "NOT_FOUND");
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        assert_eq!(headers[ACCESS_CONTROL_EXPOSE_HEADERS], "sb-error-code");
        assert!(!headers.contains_key(RELAY_ERROR));
    }

    #[test]
    fn only_what_is_the_relays_fault_is_marked_as_such() {
        let is_marked =
            |error: FunctionError| error.into_response().headers().contains_key(RELAY_ERROR);

        assert!(is_marked(FunctionError::NoCapacity));
        assert!(is_marked(FunctionError::Unreachable));
        assert!(!is_marked(FunctionError::WorkerDied));
        assert!(!is_marked(FunctionError::ResourceLimit));
        let refused = |is_marked| FunctionError::Refused {
            refusal: Refusal::Missing,
            is_marked,
        };
        assert!(is_marked(refused(true)) && !is_marked(refused(false)));
    }

    #[test]
    fn the_idle_limit_stands_in_its_message() {
        let limit = Duration::from_secs(7);
        let error = FunctionError::IdleTimeout { limit };

        assert_eq!(error.to_string(), "Request idle timeout limit (7s) reached");
        assert_eq!(FunctionError::ResourceLimit.status().as_u16(), 546);
    }
}
