//! What can go wrong between Plinth and Postgres, sorted by what the caller should do about it.

use tokio_postgres::error::SqlState;

use crate::PgError;

/// A failure of the database layer. Services translate it into their own error types.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Nobody answers: answer 503 and let the client come back.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The server has as many connections as it takes: the same.
    #[error("the database takes no more connections: {0}")]
    Full(String),
    /// The server is there, but not ready yet, or not any more: the same.
    #[error("the database is not ready: {0}")]
    NotReady(String),
    /// The connection broke while it was used: the same, though the work may have been done.
    #[error("the connection to the database was lost: {0}")]
    Lost(String),
    /// All connections of the pool stayed busy for the whole acquire timeout.
    #[error("timed out waiting for a free database connection")]
    PoolTimeout,
    /// Postgres refused.
    #[error("{0}")]
    Postgres(#[source] Box<PgError>),
    /// The driver refused our own request, such as a value of the wrong type: our mistake.
    #[error("the database was asked wrongly: {0}")]
    Misuse(String),
}

impl DbError {
    /// The SQLSTATE when Postgres itself refused.
    pub fn sqlstate(&self) -> Option<&SqlState> {
        self.refusal().map(|error| &error.code)
    }

    /// What Postgres said, if it was Postgres that refused.
    pub fn refusal(&self) -> Option<&PgError> {
        match self {
            DbError::Postgres(error) => Some(error),
            DbError::Unavailable(_)
            | DbError::Full(_)
            | DbError::NotReady(_)
            | DbError::Lost(_)
            | DbError::PoolTimeout
            | DbError::Misuse(_) => None,
        }
    }

    /// Whether trying again a little later can help without changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            DbError::Unavailable(_)
            | DbError::Full(_)
            | DbError::NotReady(_)
            | DbError::Lost(_)
            | DbError::PoolTimeout => true,
            DbError::Postgres(_) | DbError::Misuse(_) => false,
        }
    }

    /// From a connection that did not come about. Every cause counts as the server's absence: the
    /// caller of a service can do nothing about a wrong password of ours.
    pub(crate) fn of_connecting(error: &tokio_postgres::Error) -> Self {
        let told = describe(error);
        match error.code() {
            Some(&SqlState::TOO_MANY_CONNECTIONS) => DbError::Full(told),
            Some(&SqlState::CANNOT_CONNECT_NOW) => DbError::NotReady(told),
            _ => DbError::Unavailable(told),
        }
    }
}

impl From<PgError> for DbError {
    fn from(error: PgError) -> Self {
        match error.is_going_away() {
            true => DbError::Lost(error.to_string()),
            false => DbError::Postgres(Box::new(error)),
        }
    }
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(refusal) => PgError::from(refusal).into(),
            None if error.is_closed() || has_io_cause(&error) => DbError::Lost(describe(&error)),
            None => DbError::Misuse(describe(&error)),
        }
    }
}

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

/// The whole chain in one line: the driver's `Display` alone says only "db error".
pub fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return PgError::from(refusal).to_string();
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
