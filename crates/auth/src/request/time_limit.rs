//! The time limit of requests (auth contract §1.2). Dropping a request rolls back its transaction.

use std::time::Duration;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use plinth_project::Project;
use tokio::time::Instant;

use crate::{AuthError, AuthService};

/// Middleware with the project's `max_request_duration`.
pub(crate) async fn limit_time(
    State(service): State<AuthService>,
    request: Request,
    next: Next,
) -> Response {
    let Some(project) = request.extensions().get::<Project>() else {
        return next.run(request).await;
    };
    let limit = service.config(project).max_request_duration;
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => AuthError::request_timeout().into_response(),
    }
}

/// The deadline of the work before a redirect, which leaves time to send it.
pub(super) fn deadline(limit: Duration) -> Instant {
    Instant::now() + limit.mul_f64(0.9)
}
