//! The service's one route, below `/functions/v1`: which function is meant stands in the path.

use axum::Router;

use crate::{invoke::invoke, service::FunctionsService};

/// Everything that the service answers.
pub fn routes(service: FunctionsService) -> Router {
    Router::new().fallback(invoke).with_state(service)
}
