//! Broadcasts over HTTP (§6.3, §6.4) and health (§12).

mod batch;
mod error;
mod health;
mod sender;
mod single;

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use plinth_project::Cors;

pub(crate) use batch::broadcast_batch;
pub(crate) use error::HttpError;
pub(crate) use health::{health, ping};
pub(crate) use single::broadcast_one;

fn cors() -> Cors {
    Cors::any()
        .methods("POST, OPTIONS")
        .allow(
            "authorization, apikey, content-type, x-client-info, x-retry-count, traceparent, \
             tracestate, baggage",
        )
        .expose("x-rate-rolling, x-rate-limit, x-rate-limit-remaining, x-request-id")
        .max_age(86_400)
}

/// CORS for scripts of any origin.
pub(crate) async fn cors_middleware(request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    if Cors::is_preflight(request.method(), &headers) {
        return cors().preflight(&headers).into_response();
    }
    let mut response = next.run(request).await;
    cors().decorate(&headers, response.headers_mut());
    response
}
