//! What the database's refusals mean to a client (storage contract §11).

use plinth_db::{DbError, PgError};

use crate::error::{Code, StorageError};

impl From<DbError> for StorageError {
    fn from(error: DbError) -> Self {
        match &error {
            DbError::Postgres(refusal) => of_refusal(refusal),
            DbError::Unavailable(_) | DbError::NotReady(_) | DbError::Lost(_) => {
                let message = "The connection to the database timed out";
                Self::new(Code::DatabaseTimeout, 544, message)
                    .with_true_status()
                    .because(error)
            }
            DbError::PoolTimeout | DbError::Full(_) => {
                let message = "Too many connections issued to the database";
                Self::new(Code::SlowDown, 429, message)
                    .labelled("too_many_connections")
                    .with_true_status()
            }
            DbError::Misuse(_) => Self::internal(error),
        }
    }
}

fn of_refusal(refusal: &PgError) -> StorageError {
    let said = || refusal.message.clone();
    match refusal.sqlstate() {
        "42501" if refusal.message.contains("row-level security") => {
            StorageError::row_level_security()
        }
        // Also a role that does not exist, or that the login may not assume.
        "42501" | "22023" => StorageError::access_denied(said()),
        "23505" => StorageError::already_exists(Code::ResourceAlreadyExists),
        "23503" => StorageError::related_resource_missing(),
        // By `plinth.follow_objects`.
        "55006" => StorageError::taken_over(),
        "55P03" => StorageError::new(Code::ResourceLocked, 423, "The resource is locked"),
        "57014" => {
            let message = "The connection to the database timed out";
            StorageError::new(Code::DatabaseTimeout, 544, message).with_true_status()
        }
        "25006" => StorageError::new(Code::DatabaseReadOnly, 503, said()),
        "25P02" | "40001" | "40P01" => StorageError::new(Code::TransactionError, 409, said()),
        "42P17" => StorageError::new(Code::DatabaseInvalidObjectDefinition, 503, said()),
        "22P02" | "22P05" | "22021" => StorageError::new(Code::InvalidParameter, 400, said()),
        "42703" | "42P01" => StorageError::new(Code::DatabaseSchemaMismatch, 503, said()),
        // What a user's trigger raises is the user's word to the client.
        "P0001" => StorageError::new(Code::DatabaseError, 400, said()),
        state => {
            let message = format!("database error, code: {state}");
            StorageError::new(Code::DatabaseError, 500, message).because(refusal)
        }
    }
}

/// The refusal of a name that is taken, as the kind of thing that has it.
pub(crate) fn taken_as(code: Code) -> impl Fn(DbError) -> StorageError {
    move |error| match error.sqlstate().map(|state| state.code()) {
        Some("23505") => StorageError::already_exists(code),
        _ => error.into(),
    }
}
