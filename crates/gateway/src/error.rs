//! Errors of the edge itself; services render their own.
//!
//! All of them are JSON with a code (in a header for rejected API keys, whose bodies are those of the
//! hosted service), and carry `Access-Control-Allow-Origin: *`, because a browser
//! hides a response without it and the app would see nothing but "network error".

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{
    HeaderName, HeaderValue, Method,
    header::{
        ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
};
use plinth_project::{ErrorEntry, OpenError, RequestId, error_table};
use serde_json::json;

/// The header of a code that is not in the body; the auth service uses it for all of its errors.
const ERROR_CODE: HeaderName = HeaderName::from_static("x-sb-error-code");

/// A failure at the edge.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EdgeError {
    #[error("There is no {method} {path} here")]
    NotFound { method: Method, path: String },
    #[error("There is no project {0}")]
    ProjectNotFound(String),
    /// 503 and never 4xx, because clients would drop their users' sessions (console N32).
    #[error("This project is paused; its operator can restore it")]
    ProjectPaused,
    #[error("This project is not ready yet; try again in a moment")]
    ProjectNotReady,
    #[error("The database is not available at the moment; try again shortly")]
    DatabaseUnavailable,
    /// Our fault: the cause goes to the log, never to the client.
    #[error("This project cannot be opened; its operator finds the reason in the log")]
    ProjectBroken,
    #[error("An HTTP/1.1 request has exactly one Host header")]
    InvalidHost,
    #[error("No API key found in request")]
    ApiKeyMissing,
    /// Unknown, revoked, expired or signed with another key: which of them is not revealed.
    #[error("Invalid API key")]
    ApiKeyInvalid,
    #[error("Legacy API keys are disabled")]
    LegacyKeysDisabled,
    #[error("The request's headers are larger than {limit} bytes")]
    HeadersTooLarge { limit: usize },
    #[error("The request's body is larger than {limit} bytes")]
    BodyTooLarge { limit: u64 },
    #[error("Request timeout: the response did not begin in time")]
    TimedOut,
    /// Our fault, as [`EdgeError::ProjectBroken`].
    #[error("Something went wrong on our side")]
    Panicked(RequestId),
    #[error("The server is not ready: its database cannot be reached")]
    NotReady,
    #[error("This page needs the metrics token: Authorization: Bearer <plinth.metrics_token>")]
    MetricsTokenNeeded,
}

error_table! { pub(crate) EdgeError;
    Self::NotFound { .. } => NOT_FOUND, "not_found",
        "No service has this path.",
        "Check the path and the prefix of the service, such as `/rest/v1`.";
    Self::ProjectNotFound(_) => NOT_FOUND, "project_not_found",
        "There is no project with this ref, alias or host.",
        "Check the ref; `plinth projects list` shows all projects.";
    Self::ProjectPaused => SERVICE_UNAVAILABLE, "project_paused",
        "An operator paused the project.",
        "Resume it with `plinth projects resume <ref>`.";
    Self::ProjectNotReady => SERVICE_UNAVAILABLE, "project_not_ready",
        "The project is still being created.",
        "Retry after the seconds in `Retry-After`.";
    Self::DatabaseUnavailable => SERVICE_UNAVAILABLE, "database_unavailable",
        "The database cannot be reached.",
        "Retry after the seconds in `Retry-After`; operators check it with `plinth doctor`.";
    Self::ProjectBroken => INTERNAL_SERVER_ERROR, "project_broken",
        "The project cannot be opened: its secrets cannot be decrypted, its settings are invalid, or a \
         system migration failed.",
        "Operators find the cause in the server's log.";
    Self::InvalidHost => BAD_REQUEST, "invalid_host",
        "The request has no `Host` header, or more than one.",
        "Send one `Host` header, as every HTTP library does.";
    Self::ApiKeyMissing => UNAUTHORIZED, "api_key_missing",
        "The request has neither an API key nor a valid access token. The code is in the header \
         `x-sb-error-code`.",
        "Send the project's publishable key as header `apikey`.";
    Self::ApiKeyInvalid => UNAUTHORIZED, "api_key_invalid",
        "The API key is unknown or was revoked. The code is in the header `x-sb-error-code`.",
        "Send a key that `plinth keys list` shows.";
    Self::LegacyKeysDisabled => UNAUTHORIZED, "legacy_keys_disabled",
        "The API key is a legacy one, and an operator disabled those. The code is in the header \
         `x-sb-error-code`.",
        "Send a publishable or secret key instead.";
    Self::HeadersTooLarge { .. } => REQUEST_HEADER_FIELDS_TOO_LARGE, "request_headers_too_large",
        "The request's headers are larger than the limit.",
        "Send smaller headers, or raise `plinth.limits.max_header`.";
    Self::BodyTooLarge { .. } => PAYLOAD_TOO_LARGE, "request_entity_too_large",
        "The request's body is larger than the limit.",
        "Send a smaller body, or raise `plinth.limits.max_body`.";
    Self::TimedOut => GATEWAY_TIMEOUT, "request_timeout",
        "The response did not begin within the request timeout.",
        "Ask for less at once, or raise `plinth.limits.request_timeout`.";
    Self::Panicked(_) => INTERNAL_SERVER_ERROR, "unexpected_failure",
        "A handler panicked, which is a bug.",
        "Report it with the `request_id` of the response; the panic's message is in the server's log.";
    Self::NotReady => SERVICE_UNAVAILABLE, "not_ready",
        "The readiness check failed: the platform's database cannot be reached.",
        "Retry after the seconds in `Retry-After`; operators check it with `plinth doctor`.";
    Self::MetricsTokenNeeded => UNAUTHORIZED, "metrics_token_needed",
        "`/metrics` was requested without the metrics token.",
        "Send `Authorization: Bearer <plinth.metrics_token>`.";
}

/// The edge's rows of `docs/errors.md`.
pub fn error_reference() -> Vec<ErrorEntry> {
    EdgeError::reference()
}

impl EdgeError {
    /// The second sentence about a rejected API key, in the words of the hosted service.
    fn key_hint(&self) -> Option<&'static str> {
        match self {
            Self::ApiKeyMissing => Some("No `apikey` request header or url param was found."),
            Self::ApiKeyInvalid => {
                Some("Double check your Supabase `anon` or `service_role` API key.")
            }
            Self::LegacyKeysDisabled => {
                Some("Use a publishable or secret API key, or enable the legacy keys again.")
            }
            _ => None,
        }
    }

    /// `Retry-After` in seconds.
    fn retry_after(&self) -> Option<u32> {
        match self {
            Self::ProjectPaused => Some(60),
            Self::ProjectNotReady | Self::DatabaseUnavailable | Self::NotReady => Some(5),
            _ => None,
        }
    }
}

impl From<&OpenError> for EdgeError {
    fn from(error: &OpenError) -> Self {
        match error {
            OpenError::Unknown(name) => Self::ProjectNotFound(name.to_string()),
            OpenError::Paused(_) => Self::ProjectPaused,
            OpenError::NotReady(_) => Self::ProjectNotReady,
            OpenError::Unavailable(_) => Self::DatabaseUnavailable,
            OpenError::Broken(..) => Self::ProjectBroken,
        }
    }
}

impl IntoResponse for EdgeError {
    fn into_response(self) -> Response {
        let (status, code) = self.status_and_code();
        let hint = self.key_hint();
        let mut body = match hint {
            Some(hint) => json!({ "message": self.to_string(), "hint": hint }),
            None => json!({ "code": code, "message": self.to_string() }),
        };
        if let Self::Panicked(id) = &self {
            body["request_id"] = json!(*id.0);
        }
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        if hint.is_some() {
            headers.insert(ERROR_CODE, HeaderValue::from_static(code));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Retry-After, X-Request-Id, X-Sb-Error-Code"),
        );
        if let Some(seconds) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Self::MetricsTokenNeeded = self {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use plinth_db::DbError;
    use plinth_project::ProjectName;

    use super::*;

    fn check(error: OpenError, status: u16, code: &str, retry_after: Option<&str>) {
        let error = EdgeError::from(&error);
        assert_eq!(error.status_and_code().1, code);
        let response = error.into_response();
        assert_eq!(response.status(), status, "{code}");
        let header = response
            .headers()
            .get(RETRY_AFTER)
            .map(|value| value.to_str().expect("text"));
        assert_eq!(header, retry_after, "{code}");
        assert_eq!(response.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    }

    #[test]
    fn a_project_that_cannot_be_served_says_why_and_when_to_retry() {
        let reference: plinth_project::ProjectRef = "abcdefghijklmnopqrst".parse().expect("a ref");
        let unavailable = OpenError::Unavailable(DbError::PoolTimeout);
        check(
            OpenError::Unknown(ProjectName::Default),
            404,
            "project_not_found",
            None,
        );
        check(
            OpenError::Paused(reference.clone()),
            503,
            "project_paused",
            Some("60"),
        );
        check(
            OpenError::NotReady(reference),
            503,
            "project_not_ready",
            Some("5"),
        );
        check(unavailable, 503, "database_unavailable", Some("5"));
    }

    #[test]
    fn the_cause_of_a_broken_project_is_not_shown() {
        let broken = OpenError::Broken(ProjectName::Default, "secret detail".to_owned());
        let error = EdgeError::from(&broken);
        assert!(!error.to_string().contains("secret detail"));
        check(broken, 500, "project_broken", None);
    }
}
