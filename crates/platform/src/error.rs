//! Errors of the platform API (console contract F20).

use std::io;

use axum::{
    Json,
    http::{HeaderValue, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use plinth_db::{DbError, migrate::MigrateError};
use plinth_project::{
    AdministrationError, ClusterError, DirectoryError, ErrorEntry, OpenError, error_table,
};
use plinth_query::{ChangedRow, QueryError, Rejection};
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
    /// The operator has no second factor, or this session has not proven it.
    #[error(
        "A second factor is needed: enrol one, or sign in with it; without it only GET /platform/me is open"
    )]
    SecondFactorRequired,
    /// What reveals or destroys needs a second factor that was proven a short time ago.
    #[error("Confirm it is you: give your second factor again, then repeat this within 10 minutes")]
    StepUpRequired,
    /// Nobody could manage the members any more.
    #[error("This is the last owner: make somebody else an owner first")]
    LastOwner,
    /// The instance has an owner.
    #[error("This instance is set up already")]
    SetupClosed,
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
    /// PostgreSQL rejected a user's migration, which was rolled back.
    #[error("{0}")]
    MigrationFailed(Box<crate::user_migrations::MigrationFailure>),
    /// PostgreSQL rejected a statement on behalf of an operator.
    #[error("{}", .0.message)]
    Rejected(Box<Rejection>),
    /// The same, for want of a privilege.
    #[error("{}", .0.message)]
    Denied(Box<Rejection>),
    /// Somebody else changed the row meanwhile.
    #[error("This row was changed by somebody else")]
    RowChanged(Box<ChangedRow>),
    /// Somebody else saved the same thing meanwhile; the number is its version now.
    #[error("This was changed by somebody else, and is at version {0} now")]
    Stale(i64),
    /// A file cannot be read as what it is said to be.
    #[error("Line {line}: {reason}")]
    BadFile {
        /// From 1.
        line: u64,
        /// Why.
        reason: String,
    },
    /// An operator, or the end of this process, cancelled the work.
    #[error("This was cancelled")]
    Cancelled,
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

impl PlatformError {
    /// What programs read.
    fn details(&self) -> Option<serde_json::Value> {
        Some(match self {
            Self::MigrationFailed(failure) => failure.details(),
            Self::Rejected(rejection) | Self::Denied(rejection) => json!(rejection),
            Self::RowChanged(row) => json!({ "index": row.index, "current": row.current }),
            Self::Stale(version) => json!({ "version": version }),
            Self::BadFile { line, .. } => json!({ "line": line }),
            _ => return None,
        })
    }
}

error_table! { pub PlatformError;
    Self::Unauthorized(_) => UNAUTHORIZED, "unauthorized",
        "The credential is missing, unknown, expired or revoked, or its session has ended.",
        "Sign in again, or send a personal access token, `Authorization: Bearer sbp_…`; `plinth tokens create` makes one.";
    Self::Forbidden(_) => FORBIDDEN, "forbidden",
        "The operator's role, or the token's scopes and projects, do not allow the call.",
        "Ask an admin for the role in the message, use a token with the scope in it, or `plinth` on the server's own machine.";
    Self::SecondFactorRequired => FORBIDDEN, "mfa_required",
        "The operator has no second factor, or the session has not proven it.",
        "Enrol a second factor or sign in with it; owners can reset it with `plinth admin mfa-reset`.";
    Self::StepUpRequired => FORBIDDEN, "step_up_required",
        "The call reveals or destroys something, and the second factor was given more than 10 minutes ago.",
        "Verify the second factor again in the same session, and repeat the call.";
    Self::LastOwner => CONFLICT, "last_owner",
        "The change would leave no owner.",
        "Make another member an owner first.";
    Self::SetupClosed => CONFLICT, "setup_closed",
        "The instance has an owner, so the set-up is closed.",
        "Sign in; an owner invites others.";
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
    Self::MigrationFailed(_) => UNPROCESSABLE_ENTITY, "migration_failed",
        "PostgreSQL rejected a statement of a migration or a seed.",
        "Correct the SQL at the file and line in `details`, and retry.";
    Self::Rejected(_) => UNPROCESSABLE_ENTITY, "statement_rejected",
        "PostgreSQL rejected a statement that an operator asked for.",
        "`details` has the SQLSTATE, PostgreSQL's hint and the columns in question.";
    Self::Denied(_) => FORBIDDEN, "permission_denied",
        "The database role in use lacks a privilege.",
        "Grant the privilege in the message, or use another role.";
    Self::RowChanged(_) => CONFLICT, "row_changed",
        "A row is not what it was when it was read.",
        "`details` has the row as it is now; decide, and send the change with its version.";
    Self::Stale(_) => PRECONDITION_FAILED, "version_mismatch",
        "What is to be saved was changed by somebody else meanwhile.",
        "Load it again, merge, and save with the version in the message.";
    Self::BadFile { .. } => UNPROCESSABLE_ENTITY, "bad_file",
        "A file to import cannot be read.",
        "Correct the line in the message, or choose other options for the file.";
    Self::Cancelled => CONFLICT, "cancelled",
        "The work was cancelled, and nothing of it remains.",
        "Start it again.";
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
        if let Some(details) = self.details() {
            body["details"] = details;
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

impl From<QueryError> for PlatformError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Invalid(reason) => Self::Invalid(reason),
            QueryError::NotFound(reason) => Self::NotFound(reason),
            QueryError::Changed(row) => Self::RowChanged(row),
            QueryError::Rejected(rejection) if rejection.is_denied() => Self::Denied(rejection),
            QueryError::Rejected(rejection) => Self::Rejected(rejection),
            QueryError::BadFile { line, reason } => Self::BadFile { line, reason },
            QueryError::Cancelled => Self::Cancelled,
            QueryError::Database(error) => error.into(),
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

impl From<AdministrationError> for PlatformError {
    fn from(error: AdministrationError) -> Self {
        match error {
            AdministrationError::NotFound(text) => Self::NotFound(text),
            AdministrationError::Invalid(text) => Self::Invalid(text),
            AdministrationError::Conflict(text) => Self::Conflict(text),
            AdministrationError::Database(error) => error.into(),
            AdministrationError::Internal(cause) => Self::internal(cause),
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
