//! Routes of the service (§1), below `/realtime/v1`.

use ::http::Method;
use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{any, get, post},
};

use crate::{http, service::RealtimeService, socket};

/// Largest request body; the payload limit is the project's.
const MAX_BODY_BYTES: usize = 8_000_000;

/// Whether a request needs no API key: liveness checks. The path is the one below the service's prefix.
pub fn is_open_route(_: &Method, path: &str) -> bool {
    let is_health = path
        .strip_prefix("/api/tenants/")
        .and_then(|rest| rest.strip_suffix("/health"));
    path == "/api/ping" || is_health.is_some()
}

/// All routes.
pub fn routes(service: RealtimeService) -> Router {
    let broadcast = Router::new()
        .route("/api/broadcast", post(http::broadcast_batch))
        .route(
            "/api/broadcast/{topic}/events/{event}",
            post(http::broadcast_one),
        )
        // An empty topic or event is a 422: clients take a 404 for a server that is too old.
        .route("/api/broadcast//events/{event}", post(http::broadcast_one))
        .route("/api/broadcast/{topic}/events/", post(http::broadcast_one))
        .route("/api/broadcast//events/", post(http::broadcast_one))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn(http::cors_middleware));
    Router::new()
        .route("/websocket", any(socket::open))
        .route("/api/ping", get(http::ping))
        .route("/api/tenants/{id}/health", get(http::health))
        .merge(broadcast)
        .with_state(service)
}

/// The WebSocket route alone, below `/socket`, for clients configured for a standalone Realtime.
pub fn socket_routes(service: RealtimeService) -> Router {
    Router::new()
        .route("/websocket", any(socket::open))
        .with_state(service)
}
