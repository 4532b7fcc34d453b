//! Every refusal of the storage service, said once; each protocol clothes it in its own form
//! (storage contract §11).

use std::{borrow::Cow, sync::Arc};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::CACHE_CONTROL};
use serde_json::json;

/// A refusal: what kind, in which words, and for a fault of ours why.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct StorageError {
    code: Code,
    /// The status that the body names, and that S3 and TUS answer with.
    status: u16,
    /// The body's `error`: an older name of the kind.
    label: &'static str,
    message: Cow<'static, str>,
    /// Whether REST answers with `status` itself. As a rule it answers 400.
    has_true_status: bool,
    cause: Option<String>,
}

macro_rules! codes {
    ($($code:ident),* $(,)?) => {
        /// The kinds of refusals, by the names that clients know.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code { $($code),* }

        impl Code {
            /// As it stands in bodies.
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
    SignatureDoesNotMatch,
    SlowDown,
    TransactionError,
    XAmzContentSHA256Mismatch,
}

impl StorageError {
    /// A refusal whose older name is that of its code.
    pub(crate) fn new(code: Code, status: u16, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            status,
            label: code.name(),
            message: message.into(),
            has_true_status: false,
            cause: None,
        }
    }

    /// With an older name of its own.
    pub(crate) fn labelled(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    /// REST answers with the status that the body names.
    pub(crate) fn with_true_status(self) -> Self {
        Self {
            has_true_status: true,
            ..self
        }
    }

    /// 400 `InvalidRequest`
    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, 400, message)
    }

    /// A field that has the wrong form.
    pub(crate) fn invalid_field(message: impl Into<Cow<'static, str>>) -> Self {
        Self::invalid_request(message).labelled("Error")
    }

    /// The bucket is missing, or is none of the caller's business.
    pub(crate) fn no_such_bucket() -> Self {
        Self::new(Code::NoSuchBucket, 404, "Bucket not found").labelled("Bucket not found")
    }

    /// The object is missing, or is none of the caller's business.
    pub(crate) fn no_such_key() -> Self {
        Self::new(Code::NoSuchKey, 404, "Object not found").labelled("not_found")
    }

    /// The row is there and its bytes are not.
    pub(crate) fn no_such_bytes() -> Self {
        Self::new(Code::NoSuchKey, 404, "The resource was not found").labelled("Not found")
    }

    /// The bucket's name breaks a rule.
    pub(crate) fn invalid_bucket_name() -> Self {
        Self::new(Code::InvalidBucketName, 400, "Bucket name invalid").labelled("Invalid Input")
    }

    /// The object's name breaks a rule.
    pub(crate) fn invalid_key(key: &str) -> Self {
        Self::new(Code::InvalidKey, 400, format!("Invalid key: {key}"))
    }

    /// 415
    pub(crate) fn invalid_mime_type(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidMimeType, 415, message).labelled("invalid_mime_type")
    }

    /// 413: more bytes than allowed.
    pub(crate) fn too_large() -> Self {
        let message = "The object exceeded the maximum allowed size";
        Self::new(Code::EntityTooLarge, 413, message).labelled("Payload too large")
    }

    /// 409: something of that name is there already.
    pub(crate) fn already_exists(code: Code) -> Self {
        Self::new(code, 409, "The resource already exists").labelled("Duplicate")
    }

    /// 423: another request goes on with the upload. Clients try again after this.
    pub(crate) fn taken_over() -> Self {
        let message = "Another request has taken over the upload";
        Self::new(Code::ResourceLocked, 423, message)
    }

    /// 403
    pub(crate) fn access_denied(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::AccessDenied, 403, message).labelled("Unauthorized")
    }

    /// A policy said no to what was to be written.
    pub(crate) fn row_level_security() -> Self {
        Self::access_denied("new row violates row-level security policy")
    }

    /// 404: the upload in parts was completed, or given up, or never was.
    pub(crate) fn no_such_upload() -> Self {
        Self::new(Code::NoSuchUpload, 404, "Upload not found")
    }

    /// 404: what the row refers to is missing.
    pub(crate) fn related_resource_missing() -> Self {
        let message = "The related resource does not exist";
        Self::new(Code::InvalidRequest, 404, message)
    }

    /// 400: a parameter that cannot be meant.
    pub(crate) fn invalid_parameter(name: &str) -> Self {
        let message = format!("Invalid Parameter {name}");
        Self::new(Code::InvalidParameter, 400, message)
    }

    /// A signed URL that was changed, or is for something else.
    pub(crate) fn invalid_signature(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidSignature, 400, message)
    }

    /// 416
    pub(crate) fn invalid_range() -> Self {
        Self::new(Code::InvalidRange, 416, "invalid range provided")
            .labelled("invalid_range")
            .with_true_status()
    }

    /// Nothing is served there.
    pub(crate) fn no_such_route(method: &http::Method, path: &str) -> Self {
        let message = format!("Route {method}:{path} not found");
        Self::new(Code::InvalidRequest, 404, message)
            .labelled("Not Found")
            .with_true_status()
    }

    /// Our own fault: the cause is for the log alone.
    pub(crate) fn internal(cause: impl ToString) -> Self {
        Self {
            cause: Some(cause.to_string()),
            ..Self::new(Code::InternalError, 500, "Internal Server Error").labelled("Internal")
        }
    }

    /// For each of those who waited for the same thing.
    pub(crate) fn of_shared(error: Arc<Self>) -> Self {
        Self {
            code: error.code,
            status: error.status,
            label: error.label,
            message: error.message.clone(),
            has_true_status: error.has_true_status,
            cause: error.cause.clone(),
        }
    }

    /// The same kind of refusal with the cause for the log.
    pub(crate) fn because(self, cause: impl ToString) -> Self {
        Self {
            cause: Some(cause.to_string()),
            ..self
        }
    }

    /// The status that says what happened, whatever REST answers with.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Of what kind it is.
    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// Whether the database may have done it all the same: nobody heard how it ended.
    pub(crate) fn is_undecided(&self) -> bool {
        self.code == Code::DatabaseTimeout
    }

    /// In words.
    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Tells the log about a fault of ours.
    pub(crate) fn log(&self) {
        if let Some(cause) = &self.cause {
            tracing::error!(error = %cause, "a storage request failed: {cause}");
        }
    }

    /// REST answers 400 for nearly everything that is the caller's fault; the body says what it was.
    fn rest_status(&self) -> StatusCode {
        match self.status {
            500 => StatusCode::INTERNAL_SERVER_ERROR,
            _ if self.has_true_status => self.status(),
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

/// The form of the REST protocol.
impl IntoResponse for StorageError {
    fn into_response(self) -> Response {
        self.log();
        let body = json!({
            "statusCode": self.status.to_string(),
            "error": self.label,
            "message": self.message,
            "code": self.code.name(),
        });
        let mut response = (self.rest_status(), Json(body)).into_response();
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().insert(CACHE_CONTROL, no_store);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_says_400_and_the_body_says_what_happened() {
        let check = |error: StorageError, status: u16| {
            assert_eq!(error.into_response().status().as_u16(), status);
        };
        check(StorageError::no_such_key(), 400);
        check(StorageError::too_large(), 400);
        check(StorageError::invalid_range(), 416);
        check(StorageError::internal("a cause"), 500);
        check(
            StorageError::no_such_route(&http::Method::GET, "/bucket/a/b"),
            404,
        );
    }

    #[test]
    fn codes_are_called_as_clients_know_them() {
        assert_eq!(Code::InvalidJWT.name(), "InvalidJWT");
        assert_eq!(Code::NoSuchKey.name(), "NoSuchKey");
    }
}
