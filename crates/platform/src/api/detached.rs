//! Changes continue when their client disconnects, so that none is left half done.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{Platform, PlatformError};

/// Middleware: runs everything but reads in a task of its own, which a shutdown awaits.
pub(super) async fn run_detached(
    State(platform): State<Platform>,
    request: Request,
    next: Next,
) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    match platform.0.tasks.spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => PlatformError::Internal(Box::new(error)).into_response(),
    }
}
