//! Whole answers, and what must be true of each.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response::Parts};
use serde_json::{Value, json};

/// What came back.
pub(crate) struct Reply {
    asked: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A refusal as its body says it: `statusCode`, `code`, `error`, `message`.
pub(crate) struct Refusal(
    pub u16,
    pub &'static str,
    pub &'static str,
    pub &'static str,
);

impl Refusal {
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

impl Reply {
    pub(crate) fn new(asked: String, parts: Parts, body: Bytes) -> Self {
        Self {
            asked,
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }

    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("a header of ASCII"))
    }

    #[track_caller]
    pub(crate) fn succeeds(&self) -> &Self {
        assert_eq!(self.status.as_u16(), 200, "{self:#?}");
        self
    }

    /// Status and JSON body.
    #[track_caller]
    pub(crate) fn gives(&self, status: u16, body: Value) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:#?}");
        assert_eq!(self.json(), body, "{self:#?}");
        self
    }

    /// Status and body as text.
    #[track_caller]
    pub(crate) fn serves(&self, status: u16, body: &str) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:#?}");
        assert_eq!(self.text(), body, "{self:#?}");
        self
    }

    /// A refusal with the status that REST gives nearly all of them.
    #[track_caller]
    pub(crate) fn refuses(&self, refusal: Refusal) -> &Self {
        self.refuses_with(400, refusal)
    }

    /// A refusal: its four keys and no others, and the headers that every refusal has.
    #[track_caller]
    pub(crate) fn refuses_with(&self, status: u16, refusal: Refusal) -> &Self {
        let Refusal(said, code, error, message) = refusal;
        let body = json!({
            "statusCode": said.to_string(),
            "error": error,
            "message": message,
            "code": code,
        });
        self.gives(status, body);
        self.has("cache-control", "no-store");
        self.has("content-type", "application/json")
    }

    /// A refusal whose words are not the point.
    #[track_caller]
    pub(crate) fn refuses_as(&self, said: u16, code: &str) -> &Self {
        assert_eq!(self.status.as_u16(), 400, "{self:#?}");
        let body = self.json();
        assert_eq!(body["statusCode"], said.to_string(), "{self:#?}");
        assert_eq!(body["code"], code, "{self:#?}");
        self
    }

    /// A refusal of a field, by the words that name it.
    #[track_caller]
    pub(crate) fn refuses_field(&self, message: &str) -> &Self {
        let body = json!({
            "statusCode": "400",
            "error": "Error",
            "message": message,
            "code": "InvalidRequest",
        });
        self.gives(400, body)
    }

    #[track_caller]
    pub(crate) fn has(&self, name: &str, value: &str) -> &Self {
        assert_eq!(self.header(name), Some(value), "{name} of {self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn lacks(&self, name: &str) -> &Self {
        assert_eq!(self.header(name), None, "{name} of {self:#?}");
        self
    }
}

/// As one would read it on the wire.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}", self.asked, self.status)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        write!(f, "\n{}", String::from_utf8_lossy(&self.body))
    }
}
