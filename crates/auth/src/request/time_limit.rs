//! Requests that take too long are given up (auth contract §1.2). What they had begun is rolled
//! back with them.

use std::time::Duration;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use plinth_project::Project;
use tokio::time::Instant;

use crate::{AuthError, AuthService, error::Code};

/// Gives a request as long as its project's settings allow.
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
        Err(_) => too_long().into_response(),
    }
}

/// When a request whose answer is a redirect has to be given up, so that there is time for it.
pub(super) fn last_moment(limit: Duration) -> Instant {
    Instant::now() + limit.mul_f64(0.9)
}

pub(super) fn too_long() -> AuthError {
    AuthError::new(
        504,
        Code::RequestTimeout,
        "Processing this request timed out, please retry after a moment.",
    )
}
