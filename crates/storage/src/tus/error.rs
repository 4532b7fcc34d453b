//! Errors of this protocol: plain text with the real status, by which clients decide whether to
//! retry.

use axum::response::{IntoResponse, Response};
use plinth_db::DbError;
use plinth_project::ErrorEntry;

use crate::{
    error::{Code, StorageError},
    request::close_connection,
};

/// Why a request failed.
pub(super) enum TusError {
    /// It has no valid credential: rendered as for REST.
    Unauthenticated(StorageError),
    Upload(StorageError),
}

impl From<StorageError> for TusError {
    fn from(error: StorageError) -> Self {
        Self::Upload(error)
    }
}

impl From<DbError> for TusError {
    fn from(error: DbError) -> Self {
        Self::Upload(error.into())
    }
}

impl TusError {
    /// Closes the connection: the client may still be sending, and the rest is not read.
    pub(super) fn into_response(self) -> Response {
        close_connection(match self {
            Self::Unauthenticated(error) => error.into_response(),
            Self::Upload(error) => {
                error.log();
                (error.status(), error.to_string()).into_response()
            }
        })
    }
}

macro_rules! upload_errors {
    ($($error:ident),* $(,)?) => {
        /// The errors of this protocol that no other one has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum UploadError { $($error),* }

        impl UploadError {
            const ALL: &[Self] = &[$(Self::$error),*];
        }
    };
}

upload_errors! {
    AlreadyComplete,
    ConcatenationUnsupported,
    ContentTypeRequired,
    Gone,
    LengthExceeded,
    LengthRequired,
    LimitExceeded,
    LockTimeout,
    NotFound,
    OffsetConflict,
    OffsetRequired,
    VersionRequired,
}

/// What a variant is on the wire, and what the reference says about it.
struct UploadErrorReference {
    code: Code,
    status: u16,
    /// The body of the response.
    message: &'static str,
    meaning: &'static str,
    next_step: &'static str,
}

impl UploadError {
    fn reference(self) -> UploadErrorReference {
        let (code, status, message, meaning, next_step) = match self {
            Self::AlreadyComplete => (
                Code::InvalidRequest,
                400,
                "Cannot terminate an already completed upload",
                "The upload is an object already and cannot be cancelled.",
                "Delete the object instead.",
            ),
            Self::ConcatenationUnsupported => (
                Code::InvalidRequest,
                501,
                "Upload-Concat is not supported: send the file as one upload",
                "The client asks for the extension that concatenates uploads.",
                "Send the file as one upload.",
            ),
            Self::ContentTypeRequired => (
                Code::InvalidRequest,
                403,
                "Content-Type header required",
                "The chunk has no `Content-Type`.",
                "Send `Content-Type: application/offset+octet-stream`.",
            ),
            Self::Gone => (
                Code::NoSuchUpload,
                410,
                "The file for this url no longer exists",
                "The upload has expired, or its bytes were lost.",
                "Start a new upload.",
            ),
            Self::LengthExceeded => (
                Code::EntityTooLarge,
                413,
                "upload's size exceeded",
                "The client sends more bytes than the declared length of the file.",
                "Start a new upload with the right length.",
            ),
            Self::LengthRequired => (
                Code::InvalidRequest,
                400,
                "Upload-Length or Upload-Defer-Length header required",
                "A new upload declares neither its length nor that it will follow.",
                "Send one of the two headers.",
            ),
            Self::LimitExceeded => (
                Code::EntityTooLarge,
                413,
                "Maximum size exceeded",
                "The file is larger than the bucket or the service allows.",
                "Send a smaller file, or raise the limit of the bucket or of the service.",
            ),
            Self::LockTimeout => (
                Code::LockTimeout,
                503,
                "acquiring lock timeout",
                "Another request to the same upload did not release it in time.",
                "Retry after a moment.",
            ),
            Self::NotFound => (
                Code::NoSuchUpload,
                404,
                "The file for this url was not found",
                "There is no such upload, or it was cancelled.",
                "Start a new upload.",
            ),
            Self::OffsetConflict => (
                Code::InvalidRequest,
                409,
                "Upload-Offset conflict",
                "The offset of the chunk is not that of the upload.",
                "Ask for the offset with `HEAD`, and continue there.",
            ),
            Self::OffsetRequired => (
                Code::InvalidRequest,
                403,
                "Upload-Offset header required",
                "The chunk has no `Upload-Offset`.",
                "Send the offset of the chunk.",
            ),
            Self::VersionRequired => (
                Code::InvalidRequest,
                412,
                "Tus-Resumable Required",
                "The request does not declare the version of the protocol.",
                "Send `Tus-Resumable: 1.0.0`.",
            ),
        };
        UploadErrorReference {
            code,
            status,
            message,
            meaning,
            next_step,
        }
    }
}

impl From<UploadError> for StorageError {
    fn from(error: UploadError) -> Self {
        let reference = error.reference();
        Self::new(reference.code, reference.status, reference.message)
    }
}

impl From<UploadError> for TusError {
    fn from(error: UploadError) -> Self {
        Self::Upload(error.into())
    }
}

/// A header that is invalid.
pub(super) fn invalid_header(header: &str) -> StorageError {
    StorageError::invalid_request(format!("Invalid {header}"))
}

/// Every error that only resumable uploads have. Their responses are plain text: the message stands
/// in for the code. Other errors of the service come with the message and the status of the S3
/// protocol.
pub fn tus_error_reference() -> Vec<ErrorEntry> {
    let entry = |error: &UploadError| {
        let reference = error.reference();
        ErrorEntry {
            code: reference.message,
            statuses: vec![reference.status],
            meaning: reference.meaning,
            next_step: reference.next_step,
        }
    };
    let mut entries: Vec<_> = UploadError::ALL.iter().map(entry).collect();
    entries.push(ErrorEntry {
        code: "Another request has taken over the upload",
        statuses: vec![423],
        meaning: "A newer request has taken the lease of the upload.",
        next_step: "Ask for the offset with `HEAD`, and continue there.",
    });
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_lost_lease_is_documented_as_it_is() {
        let error = StorageError::upload_taken_over();
        let entries = tus_error_reference();
        let entry = entries.iter().find(|entry| entry.code == error.message());
        let statuses = entry.map(|entry| entry.statuses.clone());
        assert_eq!(statuses, Some(vec![error.status().as_u16()]));
    }
}
