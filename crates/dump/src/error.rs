//! What can go wrong between one database and its copy.

use plinth_db::{DbError, describe};

/// A dump or restore that did not go through.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The source has something that cannot be written down faithfully.
    #[error("the database cannot be copied by dump and restore: {}", .0.join("; "))]
    Refused(Vec<String>),
    /// Somebody holds a table exclusively and does not let go.
    #[error("a table is locked by somebody else ({0}); end that transaction, then try again")]
    Locked(String),
    /// One statement was refused by the new database.
    #[error("{kind} {name} could not be made: {reason}")]
    Statement {
        /// What kind of object it makes.
        kind: &'static str,
        /// Which one.
        name: String,
        /// What Postgres said.
        reason: String,
    },
    /// The rows of one table did not arrive.
    #[error("the rows of {table} could not be copied: {reason}")]
    Rows {
        /// The table, as SQL names it.
        table: String,
        /// What Postgres said.
        reason: String,
    },
    /// One of the two databases could not be asked.
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
