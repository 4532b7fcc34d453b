//! Endpoints of the process itself: `/health`, `/ready`, `/metrics`.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderValue,
    header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE},
};
use plinth_project::BoxFuture;
use plinth_token::Secret;
use serde_json::json;

use crate::{GatewayConfig, error::EdgeError};

/// What a readiness check finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Everything works.
    Ready,
    /// Requests are served, but something else does not work: what.
    Degraded(&'static str),
    /// The database cannot be reached.
    NotReady,
}

/// The check behind `/ready`.
pub type ReadyCheck = Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>;

/// `GET /health`: the process is alive. Does not check the database.
pub(crate) fn health() -> Response {
    let body = json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") });
    uncached(Json(body).into_response())
}

/// `GET /ready`: the database can be reached. A node that only cannot reach the others stays in
/// service, and says so.
pub(crate) async fn ready(check: &ReadyCheck) -> Response {
    let body = match check().await {
        Readiness::Ready => json!({ "status": "ready" }),
        Readiness::Degraded(reason) => json!({ "status": "degraded", "reason": reason }),
        Readiness::NotReady => return EdgeError::NotReady.into_response(),
    };
    uncached(Json(body).into_response())
}

/// `GET /metrics`, with the metrics token.
pub(crate) fn metrics(
    config: &GatewayConfig,
    headers: &HeaderMap,
    render: impl FnOnce() -> String,
) -> Response {
    if !config.open_metrics && !has_token(config.metrics_token.as_ref(), headers) {
        return EdgeError::MetricsTokenNeeded.into_response();
    }
    let mut response = render().into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    uncached(response)
}

fn has_token(token: Option<&Secret>, headers: &HeaderMap) -> bool {
    let header = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let credential = header.and_then(|header| header.split_once(' '));
    match (token, credential) {
        (Some(token), Some((scheme, sent))) => {
            // `Secret` compares in constant time.
            scheme.eq_ignore_ascii_case("bearer") && *token == Secret::new(sent.trim())
        }
        _ => false,
    }
}

fn uncached(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens_the_metrics() {
        let token = Secret::new("open sesame");
        let check = |header: Option<&'static str>, token, expected| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
            }
            assert_eq!(has_token(token, &headers), expected, "{header:?}");
        };
        check(Some("Bearer open sesame"), Some(&token), true);
        check(Some("bearer  open sesame"), Some(&token), true);
        check(Some("Basic open sesame"), Some(&token), false);
        check(Some("Bearer open sesam"), Some(&token), false);
        check(Some("Bearer "), None, false);
        check(None, Some(&token), false);
    }
}
