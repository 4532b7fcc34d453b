//! What PostgreSQL's errors mean to a client (storage contract §11).

use plinth_db::{DbError, PgError};

use super::{code::Code, storage_error::StorageError};

impl From<DbError> for StorageError {
    fn from(error: DbError) -> Self {
        match &error {
            DbError::Postgres(error) => from_postgres(error),
            DbError::Unavailable(_)
            | DbError::LoginRejected(_)
            | DbError::NotReady(_)
            | DbError::Lost(_) => {
                let message = "The connection to the database timed out";
                Self::new(Code::DatabaseTimeout, 544, message)
                    .with_status_in_rest()
                    .with_cause(error)
            }
            DbError::PoolTimeout | DbError::Full(_) => {
                let message = "Too many connections issued to the database";
                Self::new(Code::SlowDown, 429, message)
                    .with_label("too_many_connections")
                    .with_status_in_rest()
            }
            DbError::Misuse(_) => Self::internal(error),
        }
    }
}

fn from_postgres(error: &PgError) -> StorageError {
    let message = || error.message.clone();
    match error.sqlstate() {
        _ if error.is_out_of_resources() => StorageError::out_of_resources(error),
        "42501" if error.message.contains("row-level security") => {
            StorageError::row_level_security()
        }
        // 22023 is a role that does not exist, or that the login may not assume.
        "42501" | "22023" => StorageError::access_denied(message()),
        "23505" => StorageError::already_exists(Code::ResourceAlreadyExists),
        "23503" => StorageError::related_resource_missing(),
        // Raised by `plinth.follow_objects`.
        "55006" => StorageError::upload_taken_over(),
        "55P03" => StorageError::new(Code::ResourceLocked, 423, "The resource is locked"),
        "57014" => {
            let message = "The connection to the database timed out";
            StorageError::new(Code::DatabaseTimeout, 544, message).with_status_in_rest()
        }
        "25006" => StorageError::new(Code::DatabaseReadOnly, 503, message()),
        "25P02" | "40001" | "40P01" => StorageError::new(Code::TransactionError, 409, message()),
        "42P17" => StorageError::new(Code::DatabaseInvalidObjectDefinition, 503, message()),
        "22P02" | "22P05" | "22021" => StorageError::new(Code::InvalidParameter, 400, message()),
        "42703" | "42P01" => StorageError::new(Code::DatabaseSchemaMismatch, 503, message()),
        // Raised by a user's trigger: the message is meant for the client.
        "P0001" => StorageError::new(Code::DatabaseError, 400, message()),
        state => {
            let message = format!("database error, code: {state}");
            StorageError::new(Code::DatabaseError, 500, message).with_cause(error)
        }
    }
}

/// Reports a unique violation with that code; other errors as usual.
pub(crate) fn unique_violation_as(code: Code) -> impl Fn(DbError) -> StorageError {
    move |error| match error.sqlstate().map(|state| state.code()) {
        Some("23505") => StorageError::already_exists(code),
        _ => error.into(),
    }
}
