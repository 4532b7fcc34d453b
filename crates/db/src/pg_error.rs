//! An error as Postgres reported it, whichever driver heard it.

use std::fmt;

use tokio_postgres::error::{Severity, SqlState};

/// What Postgres says when it refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgError {
    /// Whether the statement or the whole session ended.
    pub severity: Option<Severity>,
    /// The SQLSTATE.
    pub code: SqlState,
    /// One line for a person.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// The schema that it is about.
    pub schema: Option<String>,
    /// The table that it is about.
    pub table: Option<String>,
    /// The column that it is about.
    pub column: Option<String>,
    /// The constraint that was violated.
    pub constraint: Option<String>,
    /// Where in the server's source it arose.
    pub routine: Option<String>,
}

impl PgError {
    /// An error of which no more is known than code and message.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            severity: Some(Severity::Error),
            code: SqlState::from_code(code),
            message: message.into(),
            detail: None,
            hint: None,
            schema: None,
            table: None,
            column: None,
            constraint: None,
            routine: None,
        }
    }

    /// The SQLSTATE as text.
    pub fn sqlstate(&self) -> &str {
        self.code.code()
    }

    /// Shutdown, crash and start-up of the server, and connection failures (class 08). What a
    /// function raises under such a name on a healthy connection is an error like any other.
    pub(crate) fn is_going_away(&self) -> bool {
        let is_named_so = self.code == SqlState::ADMIN_SHUTDOWN
            || self.code == SqlState::CRASH_SHUTDOWN
            || self.code == SqlState::CANNOT_CONNECT_NOW
            || self.sqlstate().starts_with("08");
        let ends_session = matches!(self.severity, Some(Severity::Fatal | Severity::Panic));
        is_named_so && ends_session
    }
}

impl fmt::Display for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.sqlstate())?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PgError {}

impl From<&tokio_postgres::error::DbError> for PgError {
    fn from(error: &tokio_postgres::error::DbError) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            severity: error.parsed_severity(),
            code: error.code().clone(),
            message: error.message().to_owned(),
            detail: owned(error.detail()),
            hint: owned(error.hint()),
            schema: owned(error.schema()),
            table: owned(error.table()),
            column: owned(error.column()),
            constraint: owned(error.constraint()),
            routine: owned(error.routine()),
        }
    }
}
