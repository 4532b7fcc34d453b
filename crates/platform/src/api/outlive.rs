//! Changes go on when the client that asked for them goes away: a project half created or a key
//! half rotated helps nobody.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{Platform, PlatformError};

/// Runs everything but reads in a task of its own, which a stop waits for.
pub(super) async fn outlive(
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
