//! The one error type: what happened, and how REST renders it.

use std::{borrow::Cow, io::ErrorKind, sync::Arc};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::CACHE_CONTROL};
use serde_json::json;

use super::code::Code;

/// An error: its code, its message, and for an internal one its cause.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct StorageError {
    code: Code,
    /// The HTTP status of S3 and TUS responses, and `statusCode` in REST bodies.
    status: u16,
    /// `error` in REST bodies: an older name of the code.
    label: &'static str,
    message: Cow<'static, str>,
    /// Whether `status` is also the HTTP status of REST responses. As a rule that is 400.
    has_status_in_rest: bool,
    cause: Option<String>,
}

impl StorageError {
    /// An error whose label is its code.
    pub(crate) fn new(code: Code, status: u16, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            status,
            label: code.name(),
            message: message.into(),
            has_status_in_rest: false,
            cause: None,
        }
    }

    /// With a label of its own.
    pub(crate) fn with_label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    /// The HTTP status of REST responses is that of the body.
    pub(crate) fn with_status_in_rest(self) -> Self {
        Self {
            has_status_in_rest: true,
            ..self
        }
    }

    /// 400 `InvalidRequest`
    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, 400, message)
    }

    /// 400: a field is missing or invalid.
    pub(crate) fn invalid_field(message: impl Into<Cow<'static, str>>) -> Self {
        Self::invalid_request(message).with_label("Error")
    }

    /// 404: the bucket is missing, or the caller may not see it.
    pub(crate) fn no_such_bucket() -> Self {
        Self::new(Code::NoSuchBucket, 404, "Bucket not found").with_label("Bucket not found")
    }

    /// 404: the object is missing, or the caller may not see it.
    pub(crate) fn no_such_key() -> Self {
        Self::new(Code::NoSuchKey, 404, "Object not found").with_label("not_found")
    }

    /// 404: the row exists and its blob does not.
    pub(crate) fn missing_blob() -> Self {
        Self::new(Code::NoSuchKey, 404, "The resource was not found").with_label("Not found")
    }

    /// 400: an invalid name of a bucket.
    pub(crate) fn invalid_bucket_name() -> Self {
        Self::new(Code::InvalidBucketName, 400, "Bucket name invalid").with_label("Invalid Input")
    }

    /// 400: an invalid name of an object.
    pub(crate) fn invalid_key(key: &str) -> Self {
        Self::new(Code::InvalidKey, 400, format!("Invalid key: {key}"))
    }

    /// 415: the bucket does not accept the MIME type.
    pub(crate) fn invalid_mime_type(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidMimeType, 415, message).with_label("invalid_mime_type")
    }

    /// 413: more bytes than allowed.
    pub(crate) fn too_large() -> Self {
        let message = "The object exceeded the maximum allowed size";
        Self::new(Code::EntityTooLarge, 413, message).with_label("Payload too large")
    }

    /// 409: something of that name exists already.
    pub(crate) fn already_exists(code: Code) -> Self {
        Self::new(code, 409, "The resource already exists").with_label("Duplicate")
    }

    /// 423: another request has taken the lease of the upload. Clients retry after this.
    pub(crate) fn upload_taken_over() -> Self {
        let message = "Another request has taken over the upload";
        Self::new(Code::ResourceLocked, 423, message)
    }

    /// 403
    pub(crate) fn access_denied(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::AccessDenied, 403, message).with_label("Unauthorized")
    }

    /// 403: a policy rejected the row to be written.
    pub(crate) fn row_level_security() -> Self {
        Self::access_denied("new row violates row-level security policy")
    }

    /// 404: the multipart upload was completed or aborted, or never existed.
    pub(crate) fn no_such_upload() -> Self {
        Self::new(Code::NoSuchUpload, 404, "Upload not found")
    }

    /// 404: a foreign key violation.
    pub(crate) fn related_resource_missing() -> Self {
        let message = "The related resource does not exist";
        Self::new(Code::InvalidRequest, 404, message)
    }

    /// 400: a parameter is invalid.
    pub(crate) fn invalid_parameter(name: &str) -> Self {
        let message = format!("Invalid Parameter {name}");
        Self::new(Code::InvalidParameter, 400, message)
    }

    /// 400: a signed URL that was changed, or is for another object.
    pub(crate) fn invalid_signature(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidSignature, 400, message)
    }

    /// 416: the range is outside of the object.
    pub(crate) fn invalid_range() -> Self {
        Self::new(Code::InvalidRange, 416, "invalid range provided")
            .with_label("invalid_range")
            .with_status_in_rest()
    }

    /// 404: there is no such route.
    pub(crate) fn no_such_route(method: &http::Method, path: &str) -> Self {
        let message = format!("Route {method}:{path} not found");
        Self::new(Code::InvalidRequest, 404, message)
            .with_label("Not Found")
            .with_status_in_rest()
    }

    /// 500: the cause is logged and not sent to the client.
    pub(crate) fn internal(cause: impl ToString) -> Self {
        Self {
            cause: Some(cause.to_string()),
            ..Self::new(Code::InternalError, 500, "Internal Server Error").with_label("Internal")
        }
    }

    /// 503: the disk is full, or PostgreSQL lacks resources. The cause is logged.
    pub(crate) fn out_of_resources(cause: impl ToString) -> Self {
        let message = "The server has no space left for this request";
        Self::new(Code::ServiceUnavailable, 503, message)
            .with_status_in_rest()
            .with_cause(cause)
    }

    /// A copy for each of several requests that waited for the same result.
    pub(crate) fn from_shared(error: Arc<Self>) -> Self {
        Self {
            code: error.code,
            status: error.status,
            label: error.label,
            message: error.message.clone(),
            has_status_in_rest: error.has_status_in_rest,
            cause: error.cause.clone(),
        }
    }

    /// With a cause for the log.
    pub(crate) fn with_cause(self, cause: impl ToString) -> Self {
        Self {
            cause: Some(cause.to_string()),
            ..self
        }
    }

    /// The HTTP status of S3 and TUS responses.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// Whether the database may have committed all the same: the connection was lost.
    pub(crate) fn is_outcome_unknown(&self) -> bool {
        self.code == Code::DatabaseTimeout
    }

    #[cfg(test)]
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Logs the cause of an internal error.
    pub(crate) fn log(&self) {
        if let Some(cause) = &self.cause {
            tracing::error!(error = %cause, "storage request failed: {cause}");
        }
    }

    /// REST responds 400 to nearly every client error; the body has the real status.
    fn rest_status(&self) -> StatusCode {
        match self.status {
            500 => StatusCode::INTERNAL_SERVER_ERROR,
            _ if self.has_status_in_rest => self.status(),
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl From<std::io::Error> for StorageError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::out_of_resources(error),
            _ => Self::internal(error),
        }
    }
}

/// Renders the error for REST.
impl IntoResponse for StorageError {
    fn into_response(self) -> Response {
        self.log();
        let status = self.rest_status();
        let documented = self.code.reference().rest;
        debug_assert!(documented.contains(&status.as_u16()), "{self:?}");
        let body = json!({
            "statusCode": self.status.to_string(),
            "error": self.label,
            "message": self.message,
            "code": self.code.name(),
        });
        let mut response = (status, Json(body)).into_response();
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().insert(CACHE_CONTROL, no_store);
        response
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn rest_responds_400_to_most_client_errors() {
        let check = |error: StorageError, status: u16| {
            assert_eq!(error.into_response().status().as_u16(), status);
        };
        check(StorageError::no_such_key(), 400);
        check(StorageError::too_large(), 400);
        check(StorageError::invalid_range(), 416);
        check(StorageError::internal("a cause"), 500);
        check(io::Error::from(ErrorKind::StorageFull).into(), 503);
        check(io::Error::from(ErrorKind::QuotaExceeded).into(), 503);
        check(io::Error::from(ErrorKind::PermissionDenied).into(), 500);
        let full = plinth_db::PgError::new("53100", "could not extend file");
        check(plinth_db::DbError::from(full).into(), 503);
        check(
            StorageError::no_such_route(&http::Method::GET, "/bucket/a/b"),
            404,
        );
    }
}
