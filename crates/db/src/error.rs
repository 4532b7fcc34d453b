//! What can go wrong between Plinth and Postgres, sorted by what the caller should do about it.

use tokio_postgres::error::SqlState;

/// A failure of the database layer. Services translate it into their own error types.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Nobody answers, or the connection was lost: answer 503 and let the client come back.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
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
            DbError::Unavailable(_) | DbError::PoolTimeout => None,
        }
    }

    /// Whether trying again a little later can help without changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, DbError::Unavailable(_) | DbError::PoolTimeout)
    }
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> Self {
        let is_lost = match error.code() {
            Some(code) => is_going_away(code),
            None => error.is_closed() || has_io_cause(&error),
        };
        match is_lost {
            true => DbError::Unavailable(describe(&error)),
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

/// Shutdown, crash and start-up of the server, and connection failures (class 08).
fn is_going_away(code: &SqlState) -> bool {
    *code == SqlState::ADMIN_SHUTDOWN
        || *code == SqlState::CRASH_SHUTDOWN
        || *code == SqlState::CANNOT_CONNECT_NOW
        || code.code().starts_with("08")
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
