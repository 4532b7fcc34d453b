//! One handler for everything: what a path means is looked up, not routed.

use axum::Router;

use crate::service::{StorageService, serve};

/// The service; one value serves all projects. Serves at `/`.
pub fn routes(service: StorageService) -> Router {
    Router::new().fallback(serve).with_state(service)
}
