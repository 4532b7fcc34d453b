//! What goes wrong with reading and changing a schema.

use plinth_catalog::{read::ReadError, statements::StatementError};
use plinth_db::DbError;
use serde::Serialize;
use tokio_postgres::error::{DbError as Report, ErrorPosition};

use crate::PlatformError;

/// PostgreSQL's report of an error, with its own names for the parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DatabaseFailure {
    /// The SQLSTATE.
    pub(crate) code: String,
    /// The message.
    pub(crate) message: String,
    /// `ERROR`, `FATAL`.
    pub(crate) severity: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// Where in the statement, in characters from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<u32>,
    /// The statement that failed, if it is one of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) statement: Option<String>,
}

impl DatabaseFailure {
    pub(crate) fn new(report: &Report) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            code: report.code().code().to_owned(),
            message: report.message().to_owned(),
            severity: report.severity().to_owned(),
            detail: owned(report.detail()),
            hint: owned(report.hint()),
            position: match report.position() {
                Some(ErrorPosition::Original(position)) => Some(*position),
                _ => None,
            },
            statement: None,
        }
    }
}

/// Reading or changing a schema failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogError {
    /// Anything that is not about a schema.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// PostgreSQL rejected a statement.
    #[error("{}", .0.message)]
    Rejected(Box<DatabaseFailure>),
    /// The schema changed again and again while it was read.
    #[error("The schema changes at the moment; try again shortly")]
    Changing,
}

impl From<tokio_postgres::Error> for CatalogError {
    fn from(error: tokio_postgres::Error) -> Self {
        let rejected = error.as_db_error().map(DatabaseFailure::new);
        let error = DbError::from(error);
        match rejected {
            // Short of disk or connections, or the session is gone: not the request's fault.
            Some(failure) if !error.is_transient() => Self::Rejected(Box::new(failure)),
            _ => Self::Platform(error.into()),
        }
    }
}

impl From<DbError> for CatalogError {
    fn from(error: DbError) -> Self {
        Self::Platform(error.into())
    }
}

impl From<ReadError> for CatalogError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Postgres(error) => error.into(),
            error => Self::Platform(PlatformError::caused_by(error)),
        }
    }
}

impl From<StatementError> for CatalogError {
    fn from(error: StatementError) -> Self {
        Self::Platform(PlatformError::Invalid(error.to_string()))
    }
}
