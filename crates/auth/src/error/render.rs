//! The response to a failed request, in both versions of the error body.

use std::sync::Arc;

use axum::{
    Json,
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{HeaderName, RETRY_AFTER},
};
use plinth_project::RequestId;
use serde_json::{Value, json};

use super::{AuthError, Kind};

impl IntoResponse for AuthError {
    /// Carries the error to [`render_errors`], which knows the caller's API version.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// The one place where an auth error becomes bytes, and the one that logs it.
pub(crate) async fn render_errors(request: Request, next: Next) -> Response {
    let is_dated = is_dated_version(request.headers());
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .map(RequestId::to_string);
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<Arc<AuthError>>() else {
        return response;
    };
    error.log();
    let code_header = [("x-sb-error-code", error.code.as_str())];
    let body = Json(error.body(is_dated, request_id));
    let mut rendered = (error.status, code_header, body).into_response();
    let headers = rendered.headers_mut();
    if is_dated {
        let name = HeaderName::from_static("x-supabase-api-version");
        headers.insert(name, HeaderValue::from_static("2024-01-01"));
    }
    if error.status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    rendered
}

impl AuthError {
    fn body(&self, is_dated: bool, request_id: Option<String>) -> Value {
        let message = &self.message;
        let mut body = match (&self.kind, is_dated) {
            (Kind::OAuth(error), _) => {
                return json!({ "error": error, "error_description": message });
            }
            (Kind::Database(db), false) => {
                let mut body = json!({ "code": db.sqlstate(), "message": db.message });
                for (key, value) in [("hint", &db.hint), ("detail", &db.detail)] {
                    if let Some(value) = value {
                        body[key] = value.as_str().into();
                    }
                }
                return body;
            }
            (_, true) => json!({ "code": self.code.as_str(), "message": message }),
            (_, false) => json!({
                "code": self.status.as_u16(), "error_code": self.code.as_str(), "msg": message,
            }),
        };
        if let Kind::WeakPassword(reasons) = &self.kind {
            body["weak_password"] = json!({ "reasons": reasons });
        }
        if let Some(id) = request_id.filter(|_| !is_dated && self.status.is_server_error()) {
            body["error_id"] = id.into();
        }
        body
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
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
