//! Every failure that the edge itself answers with; services render their own.
//!
//! All of them are JSON with a code, and carry `Access-Control-Allow-Origin: *`, because a browser
//! hides an answer without it and the app would see nothing but "network error".

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
};
use plinth_project::{OpenError, RequestId};
use serde_json::json;

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
    #[error("The request's headers are larger than {limit} bytes")]
    HeadersTooLarge { limit: usize },
    #[error("The request's body is larger than {limit} bytes")]
    BodyTooLarge { limit: u64 },
    #[error("The request took too long to answer")]
    TimedOut,
    /// Our fault, as [`EdgeError::ProjectBroken`].
    #[error("Something went wrong on our side")]
    Panicked(RequestId),
    #[error("The server is not ready: its database does not answer")]
    NotReady,
    #[error("This page needs the metrics token: Authorization: Bearer <plinth.metrics_token>")]
    MetricsTokenNeeded,
}

impl EdgeError {
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotFound { .. } => (StatusCode::NOT_FOUND, "not_found"),
            Self::ProjectNotFound(_) => (StatusCode::NOT_FOUND, "project_not_found"),
            Self::ProjectPaused => (StatusCode::SERVICE_UNAVAILABLE, "project_paused"),
            Self::ProjectNotReady => (StatusCode::SERVICE_UNAVAILABLE, "project_not_ready"),
            Self::DatabaseUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "database_unavailable"),
            Self::ProjectBroken => (StatusCode::INTERNAL_SERVER_ERROR, "project_broken"),
            Self::HeadersTooLarge { .. } => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "request_headers_too_large",
            ),
            Self::BodyTooLarge { .. } => {
                (StatusCode::PAYLOAD_TOO_LARGE, "request_entity_too_large")
            }
            Self::TimedOut => (StatusCode::GATEWAY_TIMEOUT, "request_timeout"),
            Self::Panicked(_) => (StatusCode::INTERNAL_SERVER_ERROR, "unexpected_failure"),
            Self::NotReady => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
            Self::MetricsTokenNeeded => (StatusCode::UNAUTHORIZED, "metrics_token_needed"),
        }
    }

    /// When it is worth coming back, in seconds.
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
        let mut body = json!({ "code": code, "message": self.to_string() });
        if let Self::Panicked(id) = &self {
            body["request_id"] = json!(*id.0);
        }
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("Retry-After, X-Request-Id"),
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
    fn a_project_that_cannot_be_served_says_why_and_when_to_come_back() {
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
