//! Why a broadcast over HTTP is refused.

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
    NobodyKnown,
    #[error("Unauthorized")]
    NotAllowed,
    #[error("Tenant is suspended")]
    Disabled,
    #[error("You have exceeded your rate limit")]
    RateExceeded,
    #[error("Too many requests")]
    AtLimit,
    #[error("Too many messages to broadcast, please reduce the batch size")]
    BatchTooLarge,
    #[error("The request body is not valid JSON")]
    NotJson,
    #[error("Unsupported Media Type. Use application/json or application/octet-stream")]
    WrongType,
    /// Which part of the body is wrong, as `errors` of the answer.
    #[error("Unprocessable Entity")]
    Invalid(Value),
    #[error("RLS policy error")]
    Policy,
    #[error("Query canceled")]
    Canceled,
    #[error("Missing messages partition")]
    MissingPartition,
    #[error("Tenant database unavailable")]
    NoDatabase,
    #[error("Tenant database has too many connections")]
    DatabaseFull,
    #[error("Tenant database initializing")]
    NotReady,
    #[error("Connection pool exhausted")]
    NoConnection,
}

impl From<AuthorizeError> for HttpError {
    fn from(error: AuthorizeError) -> Self {
        tracing::warn!(code = "UnableToSetPolicies", "{error}");
        match error {
            AuthorizeError::Policy(_) => Self::Policy,
            AuthorizeError::Canceled(_) => Self::Canceled,
            AuthorizeError::MissingPartition => Self::MissingPartition,
            AuthorizeError::NoConnection => Self::NoConnection,
            AuthorizeError::DatabaseFull(_) => Self::DatabaseFull,
            AuthorizeError::NotReady(_) => Self::NotReady,
            AuthorizeError::Unavailable(_) => Self::NoDatabase,
        }
    }
}

impl HttpError {
    fn status(&self) -> StatusCode {
        match self {
            Self::NobodyKnown => StatusCode::UNAUTHORIZED,
            Self::NotAllowed | Self::Disabled => StatusCode::FORBIDDEN,
            Self::RateExceeded | Self::AtLimit | Self::BatchTooLarge | Self::NoConnection => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::NotJson => StatusCode::BAD_REQUEST,
            Self::WrongType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Invalid(_)
            | Self::Policy
            | Self::Canceled
            | Self::MissingPartition
            | Self::DatabaseFull
            | Self::NotReady
            | Self::NoDatabase => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let body = match &self {
            Self::Invalid(errors) => json!({ "errors": errors }),
            Self::WrongType => json!({ "error": self.to_string() }),
            _ => json!({ "message": self.to_string() }),
        };
        (self.status(), Json(body)).into_response()
    }
}
