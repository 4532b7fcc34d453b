//! The service's one route, below `/functions/v1`: the path names the function.

use axum::Router;

use crate::{invoke::invoke, service::FunctionsService};

/// The router of the service.
pub fn routes(service: FunctionsService) -> Router {
    Router::new().fallback(invoke).with_state(service)
}
