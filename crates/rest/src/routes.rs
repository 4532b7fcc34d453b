//! One handler for all paths: whether a path names a relation or function is up to the schema
//! cache.

use axum::Router;

use crate::{handler::serve, service::RestService};

/// The router of the service, to be mounted at `/rest/v1`. One value serves all projects.
pub fn routes(service: RestService) -> Router {
    Router::new().fallback(serve).with_state(service)
}
