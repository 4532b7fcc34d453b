//! The access log: one line per request.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use plinth_session::redacted_uri;

/// Logs method, URI and status. URIs of `/auth/callback` and `/auth/confirm` carry secrets, so they are
/// logged without their query.
pub(crate) async fn log(request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), redacted_uri(request.uri()));
    let response = next.run(request).await;
    tracing::info!(%method, uri, status = response.status().as_u16(), "request completed");
    response
}
