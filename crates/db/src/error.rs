//! Database errors, classified by what the caller should do about them.

use tokio_postgres::error::SqlState;

use crate::PgError;

/// A failure of the database layer. Services translate it into their own error types.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// No connection could be made: respond 503, the client may retry.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The server rejects the login: a wrong password, or a role that may not connect. Respond 503:
    /// the caller of a service can do nothing about a login of ours.
    #[error("the database rejects the login: {0}")]
    LoginRejected(String),
    /// The server's connection limit is reached: respond 503.
    #[error("the database takes no more connections: {0}")]
    Full(String),
    /// The server is starting up or shutting down: respond 503.
    #[error("the database is not ready: {0}")]
    NotReady(String),
    /// The connection broke while in use: respond 503, though the statement may have been executed.
    #[error("the connection to the database was lost: {0}")]
    Lost(String),
    /// All connections of the pool stayed busy for the whole acquire timeout.
    #[error("timed out waiting for a free database connection")]
    PoolTimeout,
    /// PostgreSQL reported an error.
    #[error("{0}")]
    Postgres(#[source] Box<PgError>),
    /// We used the driver wrongly, such as a value of the wrong type: a bug of ours.
    #[error("invalid database request: {0}")]
    Misuse(String),
}

impl DbError {
    /// The SQLSTATE of an error that PostgreSQL reported.
    pub fn sqlstate(&self) -> Option<&SqlState> {
        self.pg_error().map(|error| &error.code)
    }

    /// The error that PostgreSQL reported, if it comes from there.
    pub fn pg_error(&self) -> Option<&PgError> {
        match self {
            DbError::Postgres(error) => Some(error),
            DbError::Unavailable(_)
            | DbError::LoginRejected(_)
            | DbError::Full(_)
            | DbError::NotReady(_)
            | DbError::Lost(_)
            | DbError::PoolTimeout
            | DbError::Misuse(_) => None,
        }
    }

    /// Whether a retry of the same request can succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            DbError::Unavailable(_)
            | DbError::LoginRejected(_)
            | DbError::Full(_)
            | DbError::NotReady(_)
            | DbError::Lost(_)
            | DbError::PoolTimeout => true,
            DbError::Postgres(error) => error.is_out_of_resources(),
            DbError::Misuse(_) => false,
        }
    }

    /// From a failed connection attempt. Every cause is worth a retry.
    pub(crate) fn from_connect_error(error: &tokio_postgres::Error) -> Self {
        let message = describe(error);
        match error.code() {
            Some(&SqlState::TOO_MANY_CONNECTIONS) => DbError::Full(message),
            Some(&SqlState::CANNOT_CONNECT_NOW) => DbError::NotReady(message),
            Some(
                &SqlState::INVALID_PASSWORD
                | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                | &SqlState::INSUFFICIENT_PRIVILEGE,
            ) => DbError::LoginRejected(message),
            _ => DbError::Unavailable(message),
        }
    }
}

impl From<PgError> for DbError {
    fn from(error: PgError) -> Self {
        if error.is_going_away() {
            DbError::Lost(error.to_string())
        } else {
            DbError::Postgres(Box::new(error))
        }
    }
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(pg_error) => PgError::from(pg_error).into(),
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

/// The error with all its causes in one line: the driver's `Display` alone says only "db error".
pub fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(pg_error) = error.as_db_error() {
        return PgError::from(pg_error).to_string();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_worth_a_retry_and_a_rejected_statement_is_not() {
        let is_transient = |code: &str| DbError::from(PgError::new(code, "")).is_transient();
        for code in ["53000", "53100", "53200", "53300"] {
            assert!(is_transient(code), "{code}");
        }
        for code in ["53400", "42501", "23505", "57014"] {
            assert!(!is_transient(code), "{code}");
        }
    }
}
