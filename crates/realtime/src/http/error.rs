//! Errors of broadcasts over HTTP.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use serde_json::{Value, json};

use crate::authorize::AuthorizeError;

/// Every failure of the HTTP endpoints.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("Unauthorized")]
    Unauthenticated,
    #[error("Unauthorized")]
    Forbidden,
    #[error("Tenant is suspended")]
    Disabled,
    #[error("You have exceeded your rate limit")]
    OverRateLimit,
    #[error("Too many requests")]
    AtRateLimit,
    #[error("Too many messages to broadcast, please reduce the batch size")]
    BatchTooLarge,
    #[error("The request body is not valid JSON")]
    NotJson,
    #[error("Unsupported Media Type. Use application/json or application/octet-stream")]
    UnsupportedMediaType,
    /// Which fields are wrong, for `errors` of the response.
    #[error("Unprocessable Entity")]
    Invalid(Value),
    #[error("RLS policy error")]
    Policy,
    #[error("Query canceled")]
    Canceled,
    #[error("Missing messages partition")]
    MissingPartition,
    #[error("Tenant database unavailable")]
    DatabaseUnavailable,
    #[error("Tenant database has too many connections")]
    DatabaseFull,
    #[error("Tenant database initializing")]
    DatabaseNotReady,
    #[error("Connection pool exhausted")]
    PoolTimeout,
    /// No fault of the request, unlike what upstream rejects with 422.
    #[error("Tenant database has no space left")]
    OutOfResources,
}

impl From<AuthorizeError> for HttpError {
    fn from(error: AuthorizeError) -> Self {
        tracing::warn!(
            code = "UnableToSetPolicies",
            "write permission check of an HTTP broadcast failed: {error}"
        );
        match error {
            AuthorizeError::Policy(_) => Self::Policy,
            AuthorizeError::Canceled(_) => Self::Canceled,
            AuthorizeError::MissingPartition => Self::MissingPartition,
            AuthorizeError::PoolTimeout => Self::PoolTimeout,
            AuthorizeError::DatabaseFull(_) => Self::DatabaseFull,
            AuthorizeError::DatabaseNotReady(_) => Self::DatabaseNotReady,
            AuthorizeError::DatabaseUnavailable(_) => Self::DatabaseUnavailable,
            AuthorizeError::OutOfResources(_) => Self::OutOfResources,
        }
    }
}

impl HttpError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::Disabled => StatusCode::FORBIDDEN,
            Self::OverRateLimit | Self::AtRateLimit | Self::BatchTooLarge | Self::PoolTimeout => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::NotJson => StatusCode::BAD_REQUEST,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Invalid(_)
            | Self::Policy
            | Self::Canceled
            | Self::MissingPartition
            | Self::DatabaseFull
            | Self::DatabaseNotReady
            | Self::DatabaseUnavailable => StatusCode::UNPROCESSABLE_ENTITY,
            Self::OutOfResources => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let body = match &self {
            Self::Invalid(errors) => json!({ "errors": errors }),
            Self::UnsupportedMediaType => json!({ "error": self.to_string() }),
            _ => json!({ "message": self.to_string() }),
        };
        (self.status(), Json(body)).into_response()
    }
}
