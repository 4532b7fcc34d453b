//! Ready-made handlers for sign-in flows (A4). Mount them inside the layer.
//!
//! | Route | Does |
//! |---|---|
//! | `GET /auth/callback` | completes a sign-in that began with [`begin_flow`](crate::SessionWriter::begin_flow), or in the browser |
//! | `GET /auth/confirm` | shows a button, because scanners open every link of a mail |
//! | `POST /auth/confirm` | uses up the link's secret and signs in |
//! | `POST /auth/sign-out` | signs out |
//!
//! Only POST changes something, except the callback: providers send people there by GET, and it
//! works only in the browser that holds the flow's secret (A33). All of them end in a redirect to
//! `next`, if that is a path of this host, and none leaves a secret in the address bar (A36).

mod callback;
mod confirm;
mod sign_out;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use plinth_client::Session as StoredSession;
use plinth_client::auth::AuthError;
use serde_json::json;
use url::form_urlencoded;

use crate::config::Config;
use crate::next::checked_next;
use crate::writer::{SessionWriter, SignInError};

/// The handlers, below `/auth`.
pub fn auth_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/auth/callback", get(callback::callback))
        .route(
            "/auth/confirm",
            get(confirm::show_page).post(confirm::confirm),
        )
        .route("/auth/sign-out", post(sign_out::sign_out))
}

/// An error with a code that pages can map to a text.
struct Failure {
    status: StatusCode,
    code: String,
}

impl Failure {
    fn new(status: StatusCode, code: &str) -> Self {
        Self {
            status,
            code: code.to_owned(),
        }
    }

    /// Redirects to the sign-in page with the code, or responds with JSON where there is none.
    fn into_response(self, config: &Config) -> Response {
        let is_ours_to_show = self.status.is_client_error();
        match &config.sign_in_path {
            Some(path) if is_ours_to_show => {
                let separator = if path.contains('?') { '&' } else { '?' };
                let code: String = form_urlencoded::byte_serialize(self.code.as_bytes()).collect();
                see_other(&format!("{path}{separator}error={code}"))
            }
            _ => {
                let body = json!({ "code": self.code, "message": "Signing in did not work" });
                let json = [(header::CONTENT_TYPE, "application/json")];
                let mut response = (self.status, json, body.to_string()).into_response();
                if self.status == StatusCode::SERVICE_UNAVAILABLE {
                    let headers = response.headers_mut();
                    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
                }
                without_traces(response)
            }
        }
    }
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        if error.is_retryable() || error.status() == Some(429) {
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, "session_unavailable");
        }
        let code = error.code().map(|code| code.as_str().to_owned());
        Self {
            status: StatusCode::BAD_REQUEST,
            code: code.unwrap_or_else(|| "unexpected_failure".to_owned()),
        }
    }
}

/// Stores the session of a completed sign-in. One that cannot be verified yet is stored as well: its one-time
/// secret is used up, and the next request verifies it.
async fn store_session(writer: &SessionWriter, session: &StoredSession) -> Result<(), Failure> {
    match writer.sign_in(session).await {
        Ok(_) | Err(SignInError::Unavailable) => Ok(()),
        Err(SignInError::Rejected) => Err(Failure::new(StatusCode::BAD_REQUEST, "bad_jwt")),
    }
}

/// Redirects to the next page, if it is safe.
fn redirect_to_next(next: Option<&str>, config: &Config) -> Response {
    see_other(checked_next(next.unwrap_or("/"), &config.allowed_redirects))
}

fn see_other(location: &str) -> Response {
    // If the path has characters that a header cannot, redirect to `/`.
    let location = HeaderValue::from_str(location).unwrap_or(HeaderValue::from_static("/"));
    without_traces((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response())
}

/// Adds headers against referrers and caching.
fn without_traces(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
