//! Why two databases cannot be compared.

use plinth_db::DbError;
use plinth_dump::DumpError;

/// A failed comparison.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// The catalog cannot be put into an order.
    #[error(transparent)]
    Catalog(DumpError),
    /// A database failed.
    #[error(transparent)]
    Database(DbError),
}

impl From<DumpError> for DiffError {
    fn from(error: DumpError) -> Self {
        match error {
            DumpError::Database(error) => Self::Database(error),
            error => Self::Catalog(error),
        }
    }
}

impl From<tokio_postgres::Error> for DiffError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error.into())
    }
}
