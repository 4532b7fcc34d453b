//! Refusals in the form of this protocol: plain text with the status that says what happened.
//! Clients decide by it whether to try again.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use plinth_db::DbError;

use crate::{
    error::{Code, StorageError},
    request::closing,
};

/// Why a request is refused.
pub(super) enum Refusal {
    /// Nobody that is known sent it: said as everywhere else in this service.
    Caller(StorageError),
    Upload(StorageError),
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        Self::Upload(error)
    }
}

impl From<DbError> for Refusal {
    fn from(error: DbError) -> Self {
        Self::Upload(error.into())
    }
}

impl Refusal {
    /// The client may still be sending; what it sends will not be read.
    pub(super) fn into_response(self) -> Response {
        closing(match self {
            Self::Caller(error) => error.into_response(),
            Self::Upload(error) => {
                error.log();
                (error.status(), error.to_string()).into_response()
            }
        })
    }
}

/// A header that is missing or breaks its grammar.
pub(super) fn bad_header(status: StatusCode, message: impl Into<String>) -> StorageError {
    StorageError::new(Code::InvalidRequest, status.as_u16(), message.into())
}

/// A header that breaks its grammar.
pub(super) fn invalid(header: &str) -> StorageError {
    bad_header(StatusCode::BAD_REQUEST, format!("Invalid {header}"))
}

pub(super) fn no_such_upload() -> StorageError {
    let message = "The file for this url was not found";
    StorageError::new(Code::NoSuchUpload, 404, message)
}

/// Its time is over, or its bytes were lost.
pub(super) fn upload_gone() -> StorageError {
    let message = "The file for this url no longer exists";
    StorageError::new(Code::NoSuchUpload, 410, message)
}

pub(super) fn offset_conflict() -> StorageError {
    StorageError::new(Code::InvalidRequest, 409, "Upload-Offset conflict")
}

/// More bytes than the upload's length.
pub(super) fn length_exceeded() -> StorageError {
    StorageError::new(Code::EntityTooLarge, 413, "upload's size exceeded")
}

/// More bytes than anybody may upload there.
pub(super) fn limit_exceeded() -> StorageError {
    StorageError::new(Code::EntityTooLarge, 413, "Maximum size exceeded")
}

/// The other writer did not stop in time.
pub(super) fn lock_timeout() -> StorageError {
    StorageError::new(Code::LockTimeout, 503, "acquiring lock timeout")
}

pub(super) fn already_complete() -> StorageError {
    let message = "Cannot terminate an already completed upload";
    StorageError::invalid_request(message)
}
