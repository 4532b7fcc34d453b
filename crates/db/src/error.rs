//! What can go wrong between Plinth and Postgres, sorted by what the caller should do about it.

use tokio_postgres::error::{Severity, SqlState};

/// A failure of the database layer. Services translate it into their own error types.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Nobody answers: answer 503 and let the client come back.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The connection broke while it was used: the same, though the work may have been done.
    #[error("the connection to the database was lost: {0}")]
    Lost(String),
    /// All connections of the pool stayed busy for the whole acquire timeout.
    #[error("timed out waiting for a free database connection")]
    PoolTimeout,
    /// Postgres answered with an error, which carries SQLSTATE, message, detail and hint; or the
    /// driver refused our own request.
    #[error("{}", describe(.0))]
    Postgres(#[source] tokio_postgres::Error),
}

impl DbError {
    /// The SQLSTATE when Postgres itself refused.
    pub fn sqlstate(&self) -> Option<&SqlState> {
        match self {
            DbError::Postgres(error) => error.code(),
            DbError::Unavailable(_) | DbError::Lost(_) | DbError::PoolTimeout => None,
        }
    }

    /// Whether trying again a little later can help without changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            DbError::Unavailable(_) | DbError::Lost(_) | DbError::PoolTimeout => true,
            DbError::Postgres(_) => false,
        }
    }
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_lost = match error.as_db_error() {
            Some(db) => is_going_away(db),
            None => error.is_closed() || has_io_cause(&error),
        };
        match is_lost {
            true => DbError::Lost(describe(&error)),
            false => DbError::Postgres(error),
        }
    }
}

/// What else the driver refuses, such as a value of the wrong type, is our own mistake.
fn has_io_cause(error: &tokio_postgres::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.is::<std::io::Error>() {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Shutdown, crash and start-up of the server, and connection failures (class 08). What a function
/// raises under such a name on a healthy connection is an error like any other.
fn is_going_away(error: &tokio_postgres::error::DbError) -> bool {
    let code = error.code();
    let is_named_so = *code == SqlState::ADMIN_SHUTDOWN
        || *code == SqlState::CRASH_SHUTDOWN
        || *code == SqlState::CANNOT_CONNECT_NOW
        || code.code().starts_with("08");
    let ends_session = matches!(
        error.parsed_severity(),
        Some(Severity::Fatal | Severity::Panic)
    );
    is_named_so && ends_session
}

/// The whole chain in one line: the driver's `Display` alone says only "db error".
pub fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        let mut text = format!("{} (SQLSTATE {})", db.message(), db.code().code());
        if let Some(detail) = db.detail() {
            text.push_str(": ");
            text.push_str(detail);
        }
        return text;
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
