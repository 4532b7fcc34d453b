//! Every failure that the auth service responds with (auth contract §1.3).
//!
//! `constructors/` names them, `code.rs` lists their codes with meaning and next step, `render.rs`
//! makes the response body in both of its versions.

mod code;
mod constructors;
mod reference;
mod render;

use std::borrow::Cow;

use http::StatusCode;
use plinth_db::{DbError, PgError};

pub(crate) use code::Code;
pub use reference::{error_reference, oauth_error_reference};
pub(crate) use render::render_errors;

/// A failure: status, code and text, and what else its body holds. [`render_errors`] makes bytes
/// of it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct AuthError {
    status: StatusCode,
    code: Code,
    message: Cow<'static, str>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Plain,
    /// Reasons why a password is too weak.
    WeakPassword(Vec<&'static str>),
    /// The body that OAuth has for errors, in every version.
    OAuth(&'static str),
    /// What a trigger or constraint of the project reported, shown to callers of the old version
    /// only.
    Database(Box<PgError>),
    /// A fault of the server: the cause goes to the log, never to the client.
    Internal(String),
}

/// Statuses of the constructors that are not made by a table.
const STATUSES: &[(Code, u16)] = &[
    (Code::UnexpectedFailure, 500),
    (Code::UnexpectedFailure, 503),
    (Code::WeakPassword, 422),
    (Code::Unknown, 400),
];

impl AuthError {
    fn new(status: u16, code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code,
            message: message.into(),
            kind: Kind::Plain,
        }
    }

    /// Any error, for tests of what is done with errors.
    #[cfg(test)]
    pub(crate) fn for_test(status: u16, code: Code, message: &'static str) -> Self {
        Self::new(status, code, message)
    }

    /// 500 `unexpected_failure`; `message` goes to the client, `cause` to the log.
    pub(crate) fn internal(message: impl Into<Cow<'static, str>>, cause: impl ToString) -> Self {
        Self {
            kind: Kind::Internal(cause.to_string()),
            ..Self::new(500, Code::UnexpectedFailure, message)
        }
    }

    /// A failed statement, described by `message`. Errors that triggers and constraints of the
    /// project raise are distinguished from faults of the server.
    pub(crate) fn database(message: &'static str, error: DbError) -> Self {
        let DbError::Postgres(error) = error else {
            return error.into();
        };
        if error.is_out_of_resources() {
            return Self::out_of_resources(error);
        }
        if let Some(reason) = unstorable(error.sqlstate()) {
            return Self::validation_failed(reason);
        }
        match raised_status(error.sqlstate()) {
            Some(500) => Self {
                kind: Kind::Database(error),
                ..Self::new(500, Code::UnexpectedFailure, message)
            },
            // The trigger chose the status for the client, and so its text.
            Some(status @ 400..=499) => {
                let text = error.message.clone();
                Self {
                    kind: Kind::Database(error),
                    ..Self::new(status, Code::Unknown, text)
                }
            }
            Some(status) => Self {
                kind: Kind::Database(error),
                ..Self::new(status, Code::Unknown, message)
            },
            None => Self::internal(message, error),
        }
    }

    fn database_unreachable(cause: String) -> Self {
        Self {
            kind: Kind::Internal(cause),
            ..Self::new(
                503,
                Code::UnexpectedFailure,
                "The database cannot be reached",
            )
        }
    }

    /// 503: a full disk, for example.
    fn out_of_resources(cause: impl ToString) -> Self {
        Self {
            kind: Kind::Internal(cause.to_string()),
            ..Self::new(
                503,
                Code::UnexpectedFailure,
                "The database has no resources left for this request",
            )
        }
    }

    /// Logs a fault of the server or of a trigger. Called once, where the response is created.
    pub(crate) fn log(&self) {
        match &self.kind {
            Kind::Internal(cause) => {
                tracing::error!(error = %cause, "auth request failed: {cause}");
            }
            Kind::Database(error) if self.status.is_server_error() => {
                tracing::warn!(
                    error = %error,
                    "auth request rejected by a trigger or constraint: {error}"
                );
            }
            _ => {}
        }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Whether the body has the form of OAuth's errors.
    pub(crate) fn is_oauth(&self) -> bool {
        matches!(self.kind, Kind::OAuth(_))
    }

    /// The code of the body.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// The cause of a fault of the server, for the log.
    pub(crate) fn cause(&self) -> Option<&str> {
        match &self.kind {
            Kind::Internal(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Why PostgreSQL cannot store a valid JSON text, by SQLSTATE.
fn unstorable(sqlstate: &str) -> Option<&'static str> {
    match sqlstate {
        "22021" | "22P05" => Some("Texts must not contain the NUL character"),
        "22001" => Some("A text is longer than its column"),
        _ => None,
    }
}

/// The status of an error that the project's own triggers and constraints raise, by SQLSTATE.
fn raised_status(sqlstate: &str) -> Option<u16> {
    match sqlstate {
        "P0001" | "23000" | "23001" | "23502" | "23503" | "23505" | "23514" | "23P01" => Some(500),
        _ => {
            let status: u16 = sqlstate.strip_prefix("PT")?.parse().ok()?;
            (400..=599).contains(&status).then_some(status)
        }
    }
}

impl From<DbError> for AuthError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Unavailable(cause)
            | DbError::LoginRejected(cause)
            | DbError::Full(cause)
            | DbError::NotReady(cause)
            | DbError::Lost(cause) => Self::database_unreachable(cause),
            DbError::PoolTimeout => Self::pool_timeout(),
            DbError::Postgres(_) => Self::database("Unexpected failure", error),
            DbError::Misuse(_) => Self::unexpected(error),
        }
    }
}
