//! Errors of the service, and assertions about them.

use plinth_testkit::Reply;
use serde_json::json;

/// The body of an error: `statusCode`, `code`, `error`, `message`.
pub(crate) struct ErrorBody(
    pub u16,
    pub &'static str,
    pub &'static str,
    pub &'static str,
);

impl ErrorBody {
    pub(crate) const NO_SUCH_BUCKET: Self =
        Self(404, "NoSuchBucket", "Bucket not found", "Bucket not found");
    pub(crate) const NO_SUCH_KEY: Self = Self(404, "NoSuchKey", "not_found", "Object not found");
    pub(crate) const NO_BYTES: Self =
        Self(404, "NoSuchKey", "Not found", "The resource was not found");
    pub(crate) const RLS: Self = Self(
        403,
        "AccessDenied",
        "Unauthorized",
        "new row violates row-level security policy",
    );
    pub(crate) const KEY_EXISTS: Self = Self(
        409,
        "KeyAlreadyExists",
        "Duplicate",
        "The resource already exists",
    );
    pub(crate) const TOO_LARGE: Self = Self(
        413,
        "EntityTooLarge",
        "Payload too large",
        "The object exceeded the maximum allowed size",
    );
    pub(crate) const NO_AUTHORIZATION: Self = Self(
        400,
        "InvalidRequest",
        "Error",
        "headers must have required property 'authorization'",
    );
    pub(crate) const BAD_BUCKET_NAME: Self = Self(
        400,
        "InvalidBucketName",
        "Invalid Input",
        "Bucket name invalid",
    );
    pub(crate) const RELATED_MISSING: Self = Self(
        404,
        "InvalidRequest",
        "InvalidRequest",
        "The related resource does not exist",
    );
}

pub(crate) trait StorageReply {
    /// An error with HTTP status 400, as nearly all in REST.
    fn fails_with(&self, error: ErrorBody) -> &Self;
    /// An error: its four keys and no others, and the headers of every error.
    fn fails_with_status(&self, status: u16, error: ErrorBody) -> &Self;
    /// An error with any message.
    fn fails_with_code(&self, status_code: u16, code: &str) -> &Self;
    /// The error of an invalid field.
    fn rejects_field(&self, message: &str) -> &Self;
}

impl StorageReply for Reply {
    #[track_caller]
    fn fails_with(&self, error: ErrorBody) -> &Self {
        self.fails_with_status(400, error)
    }

    #[track_caller]
    fn fails_with_status(&self, status: u16, error: ErrorBody) -> &Self {
        let ErrorBody(status_code, code, error, message) = error;
        let body = json!({
            "statusCode": status_code.to_string(),
            "error": error,
            "message": message,
            "code": code,
        });
        self.expect_json(status, body)
            .expect_header("cache-control", "no-store")
            .expect_header("content-type", "application/json")
    }

    #[track_caller]
    fn fails_with_code(&self, status_code: u16, code: &str) -> &Self {
        let body = self.expect_status(400).json();
        assert_eq!(body["statusCode"], status_code.to_string(), "{self:?}");
        assert_eq!(body["code"], code, "{self:?}");
        self
    }

    #[track_caller]
    fn rejects_field(&self, message: &str) -> &Self {
        let body = json!({
            "statusCode": "400",
            "error": "Error",
            "message": message,
            "code": "InvalidRequest",
        });
        self.expect_json(400, body)
    }
}
