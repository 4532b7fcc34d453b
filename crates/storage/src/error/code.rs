//! The error codes of the storage service.

macro_rules! codes {
    ($($code:ident),* $(,)?) => {
        /// Every error code, by the name that clients know.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code { $($code),* }

        impl Code {
            pub(super) const ALL: &[Self] = &[$(Self::$code),*];

            /// As in response bodies.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$code => stringify!($code)),* }
            }
        }
    };
}

codes! {
    AccessDenied,
    BadDigest,
    BucketAlreadyExists,
    DatabaseError,
    DatabaseInvalidObjectDefinition,
    DatabaseReadOnly,
    DatabaseSchemaMismatch,
    DatabaseTimeout,
    EntityTooLarge,
    EntityTooSmall,
    ExpiredToken,
    FeatureNotEnabled,
    IncompleteBody,
    InternalError,
    InvalidAccessKeyId,
    InvalidBucketName,
    InvalidChecksum,
    InvalidJWT,
    InvalidKey,
    InvalidMimeType,
    InvalidParameter,
    InvalidPartOrder,
    InvalidRange,
    InvalidRequest,
    InvalidSignature,
    InvalidUploadSignature,
    KeyAlreadyExists,
    LockTimeout,
    MalformedXML,
    MissingContentLength,
    MissingPart,
    NoSuchBucket,
    NoSuchKey,
    NoSuchUpload,
    NotImplemented,
    OperationAborted,
    PreconditionFailed,
    RequestTimeTooSkewed,
    RequestTimeout,
    ResourceAlreadyExists,
    ResourceLocked,
    ResourceNotEmpty,
    ResourceReferenced,
    ServiceUnavailable,
    SignatureDoesNotMatch,
    SlowDown,
    TransactionError,
    XAmzContentSHA256Mismatch,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_called_as_clients_know_them() {
        assert_eq!(Code::InvalidJWT.name(), "InvalidJWT");
        assert_eq!(Code::NoSuchKey.name(), "NoSuchKey");
    }
}
