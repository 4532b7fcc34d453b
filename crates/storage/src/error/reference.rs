//! The reference of all error codes, for `docs/errors.md`.
//!
//! A new code does not compile without an entry. A status that is not listed for its code fails a
//! debug assertion when the error is rendered, and so the test that provokes it.

use plinth_project::ErrorEntry;

use super::code::Code;

/// What the reference says about a code.
pub(crate) struct CodeReference {
    /// The HTTP statuses of REST responses with it.
    pub(crate) rest: &'static [u16],
    /// The HTTP statuses of S3 responses with it.
    pub(crate) s3: &'static [u16],
    meaning: &'static str,
    next_step: &'static str,
}

/// Every code in the bodies of REST responses, with their HTTP statuses. (`statusCode` in the body
/// is the status of [`s3_error_reference`], where the code is in both.)
pub fn error_reference() -> Vec<ErrorEntry> {
    entries(|reference| reference.rest)
}

/// Every code in the error documents of the S3 protocol.
pub fn s3_error_reference() -> Vec<ErrorEntry> {
    entries(|reference| reference.s3)
}

fn entries(statuses: fn(&CodeReference) -> &'static [u16]) -> Vec<ErrorEntry> {
    let entry = |code: &Code| {
        let reference = code.reference();
        ErrorEntry {
            code: code.name(),
            statuses: statuses(&reference).to_vec(),
            meaning: reference.meaning,
            next_step: reference.next_step,
        }
    };
    let all = Code::ALL.iter().map(entry);
    all.filter(|entry| !entry.statuses.is_empty()).collect()
}

impl Code {
    pub(crate) fn reference(self) -> CodeReference {
        match self {
            Self::AccessDenied => CodeReference {
                rest: &[400, 403],
                s3: &[403],
                meaning: "A policy, the role or the credential does not permit the request.",
                next_step: "Check the row-level security policies on `storage.objects` and `storage.buckets`, and the token.",
            },
            Self::BadDigest => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The body does not match the checksum or the `Content-MD5` of the request.",
                next_step: "Send the request again; if it persists, look for a proxy that changes bodies.",
            },
            Self::BucketAlreadyExists => CodeReference {
                rest: &[400],
                s3: &[409],
                meaning: "A bucket of that name exists already.",
                next_step: "Choose another name, or use the existing bucket.",
            },
            Self::DatabaseError => CodeReference {
                rest: &[400, 500],
                s3: &[400, 500],
                meaning: "A trigger raised an exception, or PostgreSQL reported an error that has no code of its own.",
                next_step: "Read the message or, for status 500, the log of the server; then fix the trigger or the policy.",
            },
            Self::DatabaseInvalidObjectDefinition => CodeReference {
                rest: &[400],
                s3: &[503],
                meaning: "A policy, view or function in the database is defined invalidly, for example recursively.",
                next_step: "Fix the definition that the message names.",
            },
            Self::DatabaseReadOnly => CodeReference {
                rest: &[400],
                s3: &[503],
                meaning: "The database accepts no writes at the moment.",
                next_step: "Retry later, or end the read-only mode.",
            },
            Self::DatabaseSchemaMismatch => CodeReference {
                rest: &[400],
                s3: &[503],
                meaning: "A policy or trigger refers to a table or column that does not exist.",
                next_step: "Fix the policy or trigger that the message names.",
            },
            Self::DatabaseTimeout => CodeReference {
                rest: &[544],
                s3: &[544],
                meaning: "The database did not respond in time, or the connection was lost; a write may have been committed.",
                next_step: "Check whether the write has happened, then retry.",
            },
            Self::EntityTooLarge => CodeReference {
                rest: &[400, 413],
                s3: &[413],
                meaning: "The file, the part or the body is larger than the bucket or the service allows.",
                next_step: "Send less, or raise `file_size_limit` of the bucket or the setting `storage.file_size_limit`.",
            },
            Self::EntityTooSmall => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The file is smaller than the policy of the form permits.",
                next_step: "Send a larger file, or sign another policy.",
            },
            Self::ExpiredToken => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The presigned URL or the policy of the form has expired.",
                next_step: "Sign a new one.",
            },
            Self::FeatureNotEnabled => CodeReference {
                rest: &[400],
                s3: &[],
                meaning: "The kind of bucket is not supported.",
                next_step: "Create a standard bucket.",
            },
            Self::IncompleteBody => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The body is shorter or longer than declared.",
                next_step: "Send the request again with the right length.",
            },
            Self::InternalError => CodeReference {
                rest: &[500],
                s3: &[500],
                meaning: "The server failed.",
                next_step: "Retry; the cause is in the log of the server.",
            },
            Self::InvalidAccessKeyId => CodeReference {
                rest: &[],
                s3: &[403],
                meaning: "The project has no such S3 access key.",
                next_step: "Use an access key of this project.",
            },
            Self::InvalidBucketName => CodeReference {
                rest: &[400],
                s3: &[400],
                meaning: "The name of the bucket is not valid.",
                next_step: "Use up to 100 letters, digits and permitted punctuation.",
            },
            Self::InvalidChecksum => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The ETag that the client lists for a part is not that of the stored part.",
                next_step: "List the ETag that the upload of the part returned, or upload the part again.",
            },
            Self::InvalidJWT => CodeReference {
                rest: &[400],
                s3: &[],
                meaning: "The token of a signed URL is malformed, expired or signed with another key.",
                next_step: "Create a new signed URL.",
            },
            Self::InvalidKey => CodeReference {
                rest: &[400],
                s3: &[400],
                meaning: "The name of the object contains characters that are not permitted, or is too long.",
                next_step: "Use ASCII letters, digits and permitted punctuation, up to 1024 bytes.",
            },
            Self::InvalidMimeType => CodeReference {
                rest: &[400],
                s3: &[415],
                meaning: "The bucket does not accept the type of the file, or the type is malformed.",
                next_step: "Send another `Content-Type`, or add the type to `allowed_mime_types` of the bucket.",
            },
            Self::InvalidParameter => CodeReference {
                rest: &[400],
                s3: &[400],
                meaning: "A parameter has an invalid value.",
                next_step: "Correct the parameter that the message names.",
            },
            Self::InvalidPartOrder => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The parts of a multipart upload are not listed in ascending order.",
                next_step: "List the parts by their number.",
            },
            Self::InvalidRange => CodeReference {
                rest: &[416],
                s3: &[400, 416],
                meaning: "The range is not within the object.",
                next_step: "Ask for bytes within the size of the object.",
            },
            Self::InvalidRequest => CodeReference {
                rest: &[400, 404],
                s3: &[400, 404],
                meaning: "The request is malformed, has a missing or invalid field, or there is no such route.",
                next_step: "Correct what the message names.",
            },
            Self::InvalidSignature => CodeReference {
                rest: &[400],
                s3: &[400],
                meaning: "The token of a signed URL is for another object or operation, or the S3 signature is malformed.",
                next_step: "Create a new signed URL for this object, or check the signing of the client.",
            },
            Self::InvalidUploadSignature => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The row of the multipart upload was modified by other means than this service.",
                next_step: "Abort the upload and start a new one.",
            },
            Self::KeyAlreadyExists => CodeReference {
                rest: &[400],
                s3: &[409],
                meaning: "An object of that name exists already.",
                next_step: "Use upsert to replace it, or another name.",
            },
            Self::LockTimeout => CodeReference {
                rest: &[400],
                s3: &[503],
                meaning: "Another request writes the same object.",
                next_step: "Retry after a moment.",
            },
            Self::MalformedXML => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The body is not well-formed XML, or not that of the operation.",
                next_step: "Check the client; a deletion lists at most 1000 objects.",
            },
            Self::MissingContentLength => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The request does not declare the length of its body.",
                next_step: "Send `Content-Length`, or `x-amz-decoded-content-length` with chunked signing.",
            },
            Self::MissingPart => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "A part that the client lists was not uploaded, or the upload has no parts.",
                next_step: "Upload the part, then complete the upload.",
            },
            Self::NoSuchBucket => CodeReference {
                rest: &[400],
                s3: &[404],
                meaning: "The bucket does not exist, or the caller may not see it.",
                next_step: "Check the name and the policies on `storage.buckets`.",
            },
            Self::NoSuchKey => CodeReference {
                rest: &[400],
                s3: &[404],
                meaning: "The object or its bytes do not exist, or the caller may not see it.",
                next_step: "Check the name and the policies on `storage.objects`.",
            },
            Self::NoSuchUpload => CodeReference {
                rest: &[],
                s3: &[404],
                meaning: "The multipart upload was completed or aborted, or never existed.",
                next_step: "Start a new upload.",
            },
            Self::NotImplemented => CodeReference {
                rest: &[],
                s3: &[501],
                meaning: "The operation or header is part of S3 but not supported.",
                next_step: "Do without it.",
            },
            Self::OperationAborted => CodeReference {
                rest: &[],
                s3: &[409],
                meaning: "Another request is completing the same multipart upload.",
                next_step: "Retry after a moment: the upload may be completed then.",
            },
            Self::PreconditionFailed => CodeReference {
                rest: &[],
                s3: &[412],
                meaning: "A condition such as `If-Match` or `If-None-Match` does not hold.",
                next_step: "Read the current state of the object, and decide anew.",
            },
            Self::RequestTimeTooSkewed => CodeReference {
                rest: &[],
                s3: &[403],
                meaning: "The clocks of client and server differ by more than 15 minutes.",
                next_step: "Correct the clock of the client.",
            },
            Self::RequestTimeout => CodeReference {
                rest: &[400],
                s3: &[400],
                meaning: "The client sent its body too slowly.",
                next_step: "Retry, for large files with resumable or multipart uploads.",
            },
            Self::ResourceAlreadyExists => CodeReference {
                rest: &[400],
                s3: &[409],
                meaning: "A row of that name exists already.",
                next_step: "Choose another name.",
            },
            Self::ResourceLocked => CodeReference {
                rest: &[400],
                s3: &[423],
                meaning: "Another transaction or request holds the resource.",
                next_step: "Retry after a moment.",
            },
            Self::ResourceNotEmpty => CodeReference {
                rest: &[400],
                s3: &[409],
                meaning: "The bucket still has objects.",
                next_step: "Empty the bucket first.",
            },
            Self::ResourceReferenced => CodeReference {
                rest: &[400],
                s3: &[409],
                meaning: "The bucket still has multipart uploads in progress.",
                next_step: "Complete or abort them first.",
            },
            Self::ServiceUnavailable => CodeReference {
                rest: &[503],
                s3: &[503],
                meaning: "The server has no disk space or memory left for the request.",
                next_step: "Retry later; operators free space, the log says where.",
            },
            Self::SignatureDoesNotMatch => CodeReference {
                rest: &[],
                s3: &[403],
                meaning: "The signature is not that of the request with the secret of the access key.",
                next_step: "Check the secret key, the region and the endpoint; look for a proxy that changes requests.",
            },
            Self::SlowDown => CodeReference {
                rest: &[400, 429],
                s3: &[429],
                meaning: "There are too many requests: no database connection or no image worker was free in time.",
                next_step: "Retry with backoff.",
            },
            Self::TransactionError => CodeReference {
                rest: &[400],
                s3: &[409],
                meaning: "The transaction was aborted by a deadlock or a serialization failure.",
                next_step: "Retry.",
            },
            Self::XAmzContentSHA256Mismatch => CodeReference {
                rest: &[],
                s3: &[400],
                meaning: "The body does not have the SHA-256 that was signed.",
                next_step: "Send the request again; if it persists, look for a proxy that changes bodies.",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_a_reference_and_statuses_are_sorted() {
        for code in Code::ALL {
            let CodeReference { rest, s3, .. } = code.reference();
            assert!(!rest.is_empty() || !s3.is_empty(), "{code:?}");
            assert!(rest.is_sorted() && s3.is_sorted(), "{code:?}");
        }
    }
}
