//! The service's routes (§1), below `/realtime/v1`.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{any, get, post},
};

use crate::{http, service::RealtimeService, socket};

/// Most bytes of a request's body that are read; the limit of a payload is the project's.
const MAX_BODY_BYTES: usize = 8_000_000;

/// Everything that the service answers.
pub fn routes(service: RealtimeService) -> Router {
    let broadcast = Router::new()
        .route("/api/broadcast", post(http::broadcast_batch))
        .route(
            "/api/broadcast/{topic}/events/{event}",
            post(http::broadcast_one),
        )
        // A path without a topic or an event is refused by name: a 404 would mean something else.
        .route("/api/broadcast//events/{event}", post(http::broadcast_one))
        .route("/api/broadcast/{topic}/events/", post(http::broadcast_one))
        .route("/api/broadcast//events/", post(http::broadcast_one))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn(http::across_origins));
    Router::new()
        .route("/websocket", any(socket::open))
        .route("/api/ping", get(http::ping))
        .route("/api/tenants/{id}/health", get(http::health))
        .merge(broadcast)
        .with_state(service)
}

/// Sockets alone, below `/socket`: where clients look that are pointed straight at this service.
pub fn socket_routes(service: RealtimeService) -> Router {
    Router::new()
        .route("/websocket", any(socket::open))
        .with_state(service)
}
