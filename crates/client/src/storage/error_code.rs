//! Error codes of the storage service (storage contract §11).

use std::fmt;

macro_rules! codes {
    ($($variant:ident,)*) => {
        /// An error code. Servers may have codes unknown to this version: those are
        /// [`StorageErrorCode::Other`].
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum StorageErrorCode {
            $(#[doc = concat!("`", stringify!($variant), "`")] $variant,)*
            /// A code unknown to this version.
            Other(String),
        }

        impl StorageErrorCode {
            /// Every code known to this version.
            pub const KNOWN: &[Self] = &[$(Self::$variant),*];

            /// The code as text.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for StorageErrorCode {
            fn from(name: &str) -> Self {
                match name {
                    $(stringify!($variant) => Self::$variant,)*
                    _ => Self::Other(name.to_owned()),
                }
            }
        }
    };
}

codes! {
    Aborted,
    AbortedTerminate,
    AccessDenied,
    BucketAlreadyExists,
    DatabaseError,
    DatabaseInvalidObjectDefinition,
    DatabaseReadOnly,
    DatabaseSchemaMismatch,
    DatabaseTimeout,
    EntityTooLarge,
    ExpiredToken,
    FeatureNotEnabled,
    InternalError,
    InvalidAccessKeyId,
    InvalidBucketName,
    InvalidChecksum,
    InvalidJWT,
    InvalidKey,
    InvalidMimeType,
    InvalidParameter,
    InvalidRange,
    InvalidRequest,
    InvalidSignature,
    InvalidUploadId,
    InvalidUploadSignature,
    KeyAlreadyExists,
    LockTimeout,
    MalformedXML,
    MaximumCredentialsLimit,
    MissingContentLength,
    MissingParameter,
    MissingPart,
    NoSuchBucket,
    NoSuchKey,
    NoSuchUpload,
    NotSupported,
    ResourceAlreadyExists,
    ResourceLocked,
    ResourceNotEmpty,
    ResourceReferenced,
    S3Error,
    SignatureDoesNotMatch,
    SlowDown,
    TenantNotFound,
    TransactionError,
    TusError,
    UnknownError,
}

impl fmt::Display for StorageErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Lets codes be compared with the texts used in documentation.
impl PartialEq<str> for StorageErrorCode {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for StorageErrorCode {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_as_themselves_and_unknown_ones_are_kept() {
        for code in StorageErrorCode::KNOWN {
            assert_eq!(StorageErrorCode::from(code.as_str()), *code);
        }
        let code = StorageErrorCode::from("FromTheFuture");
        assert_eq!(code, StorageErrorCode::Other("FromTheFuture".to_owned()));
        assert_eq!(code, "FromTheFuture");
    }
}
