//! Every auth route, in the order of the wire contract.

use axum::{Router, middleware, routing::get};

use crate::{
    AuthError, AuthService,
    error::{Code, render_errors},
    system,
};

/// The service; one value serves all projects.
pub fn routes(service: AuthService) -> Router {
    Router::new()
        .route("/health", get(system::health))
        .route("/.well-known/jwks.json", get(system::jwks))
        .fallback(async || AuthError::new(404, Code::Unknown, "Requested path is invalid"))
        .method_not_allowed_fallback(async || {
            AuthError::new(405, Code::Unknown, "Method not allowed")
        })
        .layer(middleware::from_fn(render_errors))
        .layer(middleware::from_fn(system::cors))
        .with_state(service)
}
