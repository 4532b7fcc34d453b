//! Errors of dump and restore.

use plinth_db::{DbError, describe};

/// A failed dump or restore.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The source has objects that a dump cannot represent; one sentence each.
    #[error("the database cannot be copied by dump and restore: {}", .0.join("; "))]
    Unsupported(Vec<String>),
    /// A table stayed locked exclusively for longer than the lock timeout.
    #[error("a table is locked by another transaction ({0}); end that transaction, then try again")]
    Locked(String),
    /// One statement failed in the new database.
    #[error("{kind} {name} could not be created: {reason}")]
    Statement {
        /// The kind of object it creates.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The error of PostgreSQL.
        reason: String,
    },
    /// Copying the rows of one table failed.
    #[error("the rows of {table} could not be copied: {reason}")]
    Rows {
        /// The qualified, quoted name.
        table: String,
        /// The error of PostgreSQL.
        reason: String,
    },
    /// One of the two databases failed otherwise.
    #[error(transparent)]
    Database(#[from] DbError),
}

impl From<tokio_postgres::Error> for DumpError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error.into())
    }
}

impl DumpError {
    pub(crate) fn rows(table: &str, error: &tokio_postgres::Error) -> Self {
        Self::Rows {
            table: table.to_owned(),
            reason: describe(error),
        }
    }
}
