//! Every failure the auth service can answer with, in both versions of the error body
//! (auth contract §1.3).

use std::sync::Arc;

use axum::{
    Json,
    extract::Request,
    http::{HeaderMap, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::json;

/// A failure, which knows its status and code. [`render_errors`] makes bytes of it.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// No such route.
    #[error("Requested path is invalid")]
    NotFound,
    /// The route exists, but not with this method.
    #[error("Method not allowed")]
    MethodNotAllowed,
}

impl AuthError {
    /// Status and code; a new variant does not compile until it has both.
    pub fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "unknown"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "unknown"),
        }
    }
}

impl IntoResponse for AuthError {
    /// Carries the error to [`render_errors`], which knows the caller's API version.
    fn into_response(self) -> Response {
        let (status, _) = self.status_and_code();
        let mut response = status.into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// The one place where an auth error becomes bytes.
pub(crate) async fn render_errors(request: Request, next: Next) -> Response {
    let is_dated = is_dated_version(request.headers());
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<Arc<AuthError>>() else {
        return response;
    };
    let (status, code) = error.status_and_code();
    let code_header = [("x-sb-error-code", code)];
    if is_dated {
        let body = json!({ "code": code, "message": error.to_string() });
        let version = [("x-supabase-api-version", "2024-01-01")];
        (status, code_header, version, Json(body)).into_response()
    } else {
        let body = json!({ "code": status.as_u16(), "error_code": code, "msg": error.to_string() });
        (status, code_header, Json(body)).into_response()
    }
}

/// `X-Supabase-Api-Version: YYYY-MM-DD`, from 2024-01-01 on. ISO dates compare as texts.
fn is_dated_version(headers: &HeaderMap) -> bool {
    let version = headers
        .get("x-supabase-api-version")
        .and_then(|value| value.to_str().ok());
    version.is_some_and(|text| is_date(text) && text >= "2024-01-01")
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: Option<&str>, expected: bool) {
        let mut headers = HeaderMap::new();
        if let Some(version) = version {
            headers.insert(
                "x-supabase-api-version",
                version.parse().expect("a header value"),
            );
        }
        assert_eq!(is_dated_version(&headers), expected, "{version:?}");
    }

    #[test]
    fn the_error_version_follows_the_header() {
        check(None, false);
        check(Some("2023-12-31"), false);
        check(Some("2024-01-01"), true);
        check(Some("2026-05-05"), true);
        check(Some("latest"), false);
        check(Some("20240101"), false);
    }
}
