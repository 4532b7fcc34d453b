//! Every failure the platform API can answer with (console contract F20).

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use plinth_db::{DbError, migrate::MigrateError};
use plinth_project::{ClusterError, DirectoryError, OpenError};
use serde_json::json;
use tokio_postgres::error::SqlState;

/// A failure of the platform, which renders itself.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// No credential, or one that is unknown, expired or revoked.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// The credential is good but does not reach this far.
    #[error("{0}")]
    Forbidden(String),
    /// No such project, key, branch or token.
    #[error("{0}")]
    NotFound(String),
    /// The route is part of the Management API, but Plinth does not have it (F21).
    #[error("Not available on Plinth: {0}")]
    NotAvailable(String),
    /// A project's mails go out by its mail server.
    #[error("This project's mails go out through a mail server, so it has no mailbox")]
    MailboxOff,
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(String),
    /// More bytes than may be kept.
    #[error("{0}")]
    TooLarge(String),
    /// The request is fine, but the present state forbids it.
    #[error("{0}")]
    Conflict(String),
    /// A user's migration was refused by Postgres; nothing of it remains.
    #[error("{0}")]
    MigrationFailed(Box<crate::user_migrations::MigrationFailure>),
    /// The database does not answer; come back in a moment.
    #[error("The database is not available at the moment; try again shortly")]
    Unavailable(#[source] DbError),
    /// Our fault: the cause goes to the log, never to the client.
    #[error("Unexpected failure")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl PlatformError {
    /// No project of that name.
    pub fn no_project(name: impl std::fmt::Display) -> Self {
        Self::NotFound(format!("There is no project {name}"))
    }

    /// Our own fault, caused by something else.
    pub fn caused_by(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal(Box::new(error))
    }

    /// Our own fault, told as a sentence.
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::Internal(reason.into().into())
    }

    /// Status and code; a new variant does not compile until it has both.
    pub fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Unauthorized(_) => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            Self::NotAvailable(_) => (StatusCode::NOT_FOUND, "not_available"),
            Self::MailboxOff => (StatusCode::NOT_FOUND, "mailbox_off"),
            Self::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Self::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
            Self::MigrationFailed(_) => (StatusCode::UNPROCESSABLE_ENTITY, "migration_failed"),
            Self::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "database_unavailable"),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }
}

impl IntoResponse for PlatformError {
    fn into_response(self) -> Response {
        if let Self::Internal(cause) = &self {
            tracing::error!(error = %cause, "a platform request failed: {cause}");
        }
        let (status, code) = self.status_and_code();
        let mut body = json!({ "message": self.to_string(), "code": code });
        if let Self::MigrationFailed(failure) = &self {
            body["details"] = failure.details();
        }
        let mut response = (status, Json(body)).into_response();
        if matches!(self, Self::Unavailable(_)) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("2"));
        }
        response
    }
}

impl From<DbError> for PlatformError {
    fn from(error: DbError) -> Self {
        match error {
            error if error.is_transient() => Self::Unavailable(error),
            error => match error.sqlstate().map(SqlState::code) {
                Some("23505") => Self::Conflict("That name is taken already".to_owned()),
                // Values that Postgres cannot hold: NUL in a text, a time beyond its calendar.
                Some("22021" | "22P05" | "22008" | "22003" | "22023") => {
                    Self::Invalid(format!("A value cannot be stored: {error}"))
                }
                _ => Self::Internal(error.into()),
            },
        }
    }
}

impl From<tokio_postgres::Error> for PlatformError {
    fn from(error: tokio_postgres::Error) -> Self {
        DbError::from(error).into()
    }
}

impl From<MigrateError> for PlatformError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Database(error) => error.into(),
            error => Self::Internal(error.into()),
        }
    }
}

impl From<ClusterError> for PlatformError {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Database(error) => error.into(),
            error => Self::Internal(error.into()),
        }
    }
}

impl From<DirectoryError> for PlatformError {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Database(error) => error.into(),
            error => Self::Internal(error.into()),
        }
    }
}

impl From<OpenError> for PlatformError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unknown(name) => Self::no_project(name),
            OpenError::Paused(reference) => Self::Conflict(format!(
                "Project {reference} is paused; resume it first: plinth projects resume {reference}"
            )),
            OpenError::NotReady(reference) => {
                Self::Conflict(format!("Project {reference} is still being created"))
            }
            OpenError::Unavailable(error) => error.into(),
            error @ OpenError::Broken(..) => Self::Internal(error.into()),
        }
    }
}
