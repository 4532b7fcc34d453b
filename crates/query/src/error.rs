//! What can go wrong, by what the person in front of it can do.

use plinth_db::{DbError, PgError};
use serde::{Deserialize, Serialize};

use crate::RowSet;

/// A failure of this crate.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// There is no such relation, row or column.
    #[error("{0}")]
    NotFound(String),
    /// Somebody else changed a row meanwhile.
    #[error("this row was changed by somebody else")]
    Changed(Box<ChangedRow>),
    /// PostgreSQL rejected the statement.
    #[error("{}", .0.message)]
    Rejected(Box<Rejection>),
    /// A file cannot be read as what it is said to be.
    #[error("line {line}: {reason}")]
    BadFile {
        /// From 1.
        line: u64,
        /// Why.
        reason: String,
    },
    /// It was cancelled.
    #[error("this was cancelled")]
    Cancelled,
    /// The database failed.
    #[error(transparent)]
    Database(DbError),
}

/// A row that is not what it was when it was read.
#[derive(Debug)]
pub struct ChangedRow {
    /// Which of the rows that were sent, from 0.
    pub index: usize,
    /// The row as it is now; no row if it was deleted, or can no longer be seen.
    pub current: RowSet,
}

/// Why PostgreSQL rejected a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// Such as `23505`.
    pub sqlstate: String,
    /// PostgreSQL's message.
    pub message: String,
    /// Its detail.
    pub detail: Option<String>,
    /// Its hint.
    pub hint: Option<String>,
    /// The schema of the table.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The columns to blame, as far as they are known.
    pub columns: Vec<String>,
    /// The constraint that was violated.
    pub constraint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
    /// Call stack, or line of a file.
    pub context: Option<String>,
}

impl Rejection {
    /// What PostgreSQL said. `parameters` are the columns that the statement's parameters are for.
    pub(crate) fn new(error: &PgError, parameters: &[Option<String>]) -> Self {
        let mut columns: Vec<String> = error.column.iter().cloned().collect();
        if columns.is_empty() {
            let number = error.context.as_deref().and_then(parameter_number);
            let column = number.and_then(|number| parameters.get(number - 1));
            columns.extend(column.cloned().flatten());
        }
        Self {
            sqlstate: error.sqlstate().to_owned(),
            message: error.message.clone(),
            detail: error.detail.clone(),
            hint: error.hint.clone(),
            schema: error.schema.clone(),
            table: error.table.clone(),
            columns,
            constraint: error.constraint.clone(),
            position: error.position,
            context: error.context.clone(),
        }
    }

    /// Whether a privilege is missing.
    pub fn is_denied(&self) -> bool {
        self.sqlstate == "42501"
    }
}

/// `unnamed portal parameter $3 = '…'`.
fn parameter_number(context: &str) -> Option<usize> {
    let (_, rest) = context.split_once("parameter $")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok().filter(|number| *number > 0)
}

impl QueryError {
    /// The error of a statement with these parameters.
    pub(crate) fn of_statement(error: DbError, parameters: &[Option<String>]) -> Self {
        match error {
            DbError::Postgres(error) if !error.is_out_of_resources() => {
                Self::Rejected(Box::new(Rejection::new(&error, parameters)))
            }
            // Such as a statement with too many parameters.
            DbError::Misuse(reason) => Self::Invalid(reason),
            error => Self::Database(error),
        }
    }
}

impl From<DbError> for QueryError {
    fn from(error: DbError) -> Self {
        Self::of_statement(error, &[])
    }
}

impl From<tokio_postgres::Error> for QueryError {
    fn from(error: tokio_postgres::Error) -> Self {
        DbError::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_parameter_names_its_column() {
        let columns = ["id", "age"].map(|name| Some(name.to_owned()));
        let mut error = PgError::new("22P02", "invalid input syntax");
        error.context = Some("unnamed portal parameter $2 = 'x'".to_owned());
        assert_eq!(Rejection::new(&error, &columns).columns, ["age"]);
        error.context = Some("unnamed portal parameter $9 = 'x'".to_owned());
        assert!(Rejection::new(&error, &columns).columns.is_empty());
        error.context = Some("unnamed portal parameter $0".to_owned());
        assert!(Rejection::new(&error, &columns).columns.is_empty());
    }
}
