//! Every auth route, in the order of the wire contract.

use axum::{Router, middleware, routing::get};

use crate::{
    error::{AuthError, render_errors},
    system,
};

/// The service; one value serves all projects.
pub fn routes() -> Router {
    Router::new()
        .route("/health", get(system::health))
        .route("/.well-known/jwks.json", get(system::jwks))
        .fallback(async || AuthError::NotFound)
        .method_not_allowed_fallback(async || AuthError::MethodNotAllowed)
        .layer(middleware::from_fn(render_errors))
        .layer(middleware::from_fn(system::cors))
}
