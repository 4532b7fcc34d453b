//! One handler for everything: what a path means is looked up, not routed.

use axum::Router;

use crate::service::{RestService, serve};

/// The service; one value serves all projects. Serves at `/`.
pub fn routes(service: RestService) -> Router {
    Router::new().fallback(serve).with_state(service)
}
