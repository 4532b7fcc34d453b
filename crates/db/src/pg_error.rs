//! An error as PostgreSQL reported it, independent of the driver.

use std::fmt;

use tokio_postgres::error::{ErrorPosition, Severity, SqlState};

/// An ErrorResponse of PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgError {
    /// Whether only the statement failed or the session ended.
    pub severity: Option<Severity>,
    /// The SQLSTATE.
    pub code: SqlState,
    /// The primary message.
    pub message: String,
    /// The detail message.
    pub detail: Option<String>,
    /// The hint.
    pub hint: Option<String>,
    /// The schema of the object in question.
    pub schema: Option<String>,
    /// The table in question.
    pub table: Option<String>,
    /// The column in question.
    pub column: Option<String>,
    /// The constraint that was violated.
    pub constraint: Option<String>,
    /// The function in the server's source that reported it.
    pub routine: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
    /// The same within a statement that the server generated.
    pub internal_position: Option<u32>,
    /// That statement.
    pub internal_query: Option<String>,
    /// The call stack, and which parameter or line of a COPY was to blame.
    pub context: Option<String>,
}

impl PgError {
    /// An error with nothing but code and message.
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
            position: None,
            internal_position: None,
            internal_query: None,
            context: None,
        }
    }

    /// The SQLSTATE as text.
    pub fn sqlstate(&self) -> &str {
        self.code.code()
    }

    /// Whether PostgreSQL lacks disk space, memory or connections (class 53). A limit that was
    /// configured (53400) is none of these.
    pub fn is_out_of_resources(&self) -> bool {
        let code = self.sqlstate();
        code.starts_with("53") && code != "53400"
    }

    /// Shutdown, crash and start-up of the server, and connection failures (class 08). The same code
    /// raised by a function on a healthy connection is an ordinary error.
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
        let (position, internal_position, internal_query) = match error.position() {
            Some(ErrorPosition::Original(position)) => (Some(*position), None, None),
            Some(ErrorPosition::Internal { position, query }) => {
                (None, Some(*position), Some(query.clone()))
            }
            None => (None, None, None),
        };
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
            position,
            internal_position,
            internal_query,
            context: owned(error.where_()),
        }
    }
}
