//! Errors of the platform API (console contract F20).

use std::io;

use axum::{
    Json,
    http::{HeaderValue, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use plinth_db::{DbError, migrate::MigrateError};
use plinth_project::{ClusterError, DirectoryError, ErrorEntry, OpenError, error_table};
use serde_json::json;
use tokio_postgres::error::SqlState;

/// An error of the platform, which renders itself.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// No credential, or one that is unknown, expired or revoked.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// The credential is valid but lacks a right.
    #[error("{0}")]
    Forbidden(String),
    /// No such project, key, branch or token.
    #[error("{0}")]
    NotFound(String),
    /// The route is part of the Management API, but Plinth does not have it (F21).
    #[error("Not available on Plinth: {0}")]
    NotAvailable(String),
    /// The project uses a mail server.
    #[error("This project's mails go out through a mail server, so it has no mailbox")]
    MailboxOff,
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(String),
    /// Beyond a size limit.
    #[error("{0}")]
    TooLarge(String),
    /// The request is fine, but the present state forbids it.
    #[error("{0}")]
    Conflict(String),
    /// What the request was made for has changed meanwhile.
    #[error("{0}")]
    Stale(String),
    /// The setting is decided elsewhere, or when Plinth starts.
    #[error("{0}")]
    SettingFixed(String),
    /// Values of settings that cannot be used.
    #[error("{}", .0.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join(" "))]
    InvalidSettings(Vec<crate::config::SettingProblem>),
    /// PostgreSQL rejected a user's migration, which was rolled back.
    #[error("{0}")]
    MigrationFailed(Box<crate::user_migrations::MigrationFailure>),
    /// Too many requests; the number is the limit per minute.
    #[error("More than {0} requests in a minute; wait a moment")]
    RateLimited(u32),
    /// The database cannot be reached; worth a retry.
    #[error("The database is not available at the moment; try again shortly")]
    Unavailable(#[source] DbError),
    /// The disk is full.
    #[error("The server has no space left for this request")]
    NoSpace(#[source] io::Error),
    /// Our fault: the cause goes to the log, never to the client.
    #[error("Unexpected failure")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl PlatformError {
    /// No project of that name.
    pub fn no_project(name: impl std::fmt::Display) -> Self {
        Self::NotFound(format!("There is no project {name}"))
    }

    /// An internal error with a cause.
    pub fn caused_by(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Internal(Box::new(error))
    }

    /// An internal error with a message.
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::Internal(reason.into().into())
    }
}

error_table! { pub PlatformError;
    Self::Unauthorized(_) => UNAUTHORIZED, "unauthorized",
        "The credential is missing, unknown, expired or revoked.",
        "Send a personal access token, `Authorization: Bearer sbp_…`; `plinth tokens create` makes one.";
    Self::Forbidden(_) => FORBIDDEN, "forbidden",
        "The token lacks a scope, or is limited to other projects.",
        "Use a token with the scope in the message, or `plinth` on the server's own machine.";
    Self::NotFound(_) => NOT_FOUND, "not_found",
        "There is no such project, key, branch, token or path.",
        "Check the ref, id or name in the path.";
    Self::NotAvailable(_) => NOT_FOUND, "not_available",
        "The Management API has this call, but Plinth does not.",
        "See `docs/compatibility.md` for what is available.";
    Self::MailboxOff => NOT_FOUND, "mailbox_off",
        "The project sends mails through a mail server, so it has no development mailbox.",
        "Disable `auth.email.smtp.enabled` to keep mails in the mailbox.";
    Self::Invalid(_) => BAD_REQUEST, "invalid_request",
        "A parameter or the body of the request is invalid.",
        "Correct the value in the message.";
    Self::TooLarge(_) => PAYLOAD_TOO_LARGE, "too_large",
        "The body exceeds a limit.",
        "Send less; the message has the limit.";
    Self::Conflict(_) => CONFLICT, "conflict",
        "The current state does not allow the request.",
        "Do first what the message asks for.";
    Self::Stale(_) => PRECONDITION_FAILED, "stale",
        "It was changed after it was read, so that the change would undo another one.",
        "Read it again, and repeat the change with the new `ETag`.";
    Self::SettingFixed(_) => CONFLICT, "setting_fixed",
        "The setting is fixed by the file, environment or command line in the message, or read at the start.",
        "Change it there, and restart Plinth where the message says so.";
    Self::InvalidSettings(_) => BAD_REQUEST, "invalid_settings",
        "A setting has an unknown name or a value that is not allowed.",
        "Correct the settings in `details`.";
    Self::MigrationFailed(_) => UNPROCESSABLE_ENTITY, "migration_failed",
        "PostgreSQL rejected a statement of a migration or a seed.",
        "Correct the SQL at the file and line in `details`, and retry.";
    Self::RateLimited(_) => TOO_MANY_REQUESTS, "rate_limited",
        "The token made too many requests to one project within a minute.",
        "Retry after the seconds in `Retry-After`.";
    Self::Unavailable(_) => SERVICE_UNAVAILABLE, "database_unavailable",
        "The database cannot be reached.",
        "Retry after the seconds in `Retry-After`; operators check it with `plinth doctor`.";
    Self::NoSpace(_) => SERVICE_UNAVAILABLE, "no_space",
        "The server has no disk space left for the request.",
        "Retry later; operators free space.";
    Self::Internal(_) => INTERNAL_SERVER_ERROR, "internal",
        "Unexpected failure.",
        "Operators find the cause in the server's log.";
}

/// The platform API's rows of `docs/errors.md`.
pub fn error_reference() -> Vec<ErrorEntry> {
    PlatformError::reference()
}

impl IntoResponse for PlatformError {
    fn into_response(self) -> Response {
        match &self {
            Self::Internal(cause) => {
                tracing::error!(error = %cause, "platform request failed: {cause}");
            }
            Self::NoSpace(cause) => {
                tracing::error!(error = %cause, "platform request failed: {cause}");
            }
            _ => {}
        }
        let (status, code) = self.status_and_code();
        let mut body = json!({ "message": self.to_string(), "code": code });
        if let Self::MigrationFailed(failure) = &self {
            body["details"] = failure.details();
        }
        if let Self::InvalidSettings(problems) = &self {
            let problems = problems
                .iter()
                .map(|problem| json!({ "setting": problem.setting, "message": problem.message }));
            body["details"] = problems.collect();
        }
        let mut response = (status, Json(body)).into_response();
        if matches!(self, Self::Unavailable(_) | Self::NoSpace(_)) {
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
            error if error.sqlstate() == Some(&SqlState::DISK_FULL) => {
                Self::NoSpace(io::Error::new(io::ErrorKind::StorageFull, error))
            }
            error if error.is_transient() => Self::Unavailable(error),
            error => match error.sqlstate().map(SqlState::code) {
                Some("23505") => Self::Conflict("That name is taken already".to_owned()),
                // Values that PostgreSQL cannot store, such as NUL in a text or a time out of range.
                Some("22021" | "22P05" | "22008" | "22003" | "22023") => {
                    Self::Invalid(format!("A value cannot be stored: {error}"))
                }
                _ => Self::Internal(error.into()),
            },
        }
    }
}

impl From<io::Error> for PlatformError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace(error),
            _ => Self::caused_by(error),
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
