//! Rejections of the extractors.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// Why an extractor rejected a request. Renders as JSON `{code, message}`, or as a redirect for page views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRejection {
    problem: Problem,
    location: Option<String>,
}

/// The reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Not signed in.
    SignedOut,
    /// The session is unknown, because the auth service is unavailable.
    Unavailable,
    /// The second factor is missing.
    InsufficientAal,
    /// The user's role is not accepted here.
    WrongRole,
    /// The change comes from another origin.
    Csrf,
    /// The request carries a bearer token; cookies are neither read nor written for it.
    BearerRequest,
    /// The route is not inside a [`SessionLayer`](crate::SessionLayer).
    NoLayer,
}

impl Problem {
    fn describe(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::SignedOut => (StatusCode::UNAUTHORIZED, "session_missing", "Sign in first"),
            Self::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "session_unavailable",
                "The session cannot be checked at the moment",
            ),
            Self::InsufficientAal => (
                StatusCode::FORBIDDEN,
                "insufficient_aal",
                "A second factor is needed",
            ),
            Self::WrongRole => (
                StatusCode::FORBIDDEN,
                "insufficient_role",
                "Not for this role",
            ),
            Self::Csrf => (
                StatusCode::FORBIDDEN,
                "csrf_rejected",
                "The request does not come from this application's own pages",
            ),
            Self::BearerRequest => (
                StatusCode::BAD_REQUEST,
                "bearer_request",
                "Requests with a bearer token have no session in cookies",
            ),
            Self::NoLayer => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "unexpected_failure",
                "No session layer is around this route",
            ),
        }
    }
}

impl SessionRejection {
    pub(crate) fn new(problem: Problem) -> Self {
        Self {
            problem,
            location: None,
        }
    }

    pub(crate) fn or_redirect(problem: Problem, location: Option<String>) -> Self {
        Self { problem, location }
    }

    /// The reason.
    pub fn problem(&self) -> Problem {
        self.problem
    }

    pub(crate) fn status_and_body(&self) -> (StatusCode, String) {
        let (status, code, message) = self.problem.describe();
        (
            status,
            json!({ "code": code, "message": message }).to_string(),
        )
    }
}

impl IntoResponse for SessionRejection {
    fn into_response(self) -> Response {
        if let Some(location) = self
            .location
            .as_deref()
            .and_then(|to| HeaderValue::from_str(to).ok())
        {
            return (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
        }
        let (status, body) = self.status_and_body();
        let json = [(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        )];
        let mut response = (status, json, body).into_response();
        if self.problem == Problem::Unavailable {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}
