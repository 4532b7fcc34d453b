//! Responses, and assertions about them.

use std::fmt;

use axum::{body::to_bytes, response::Response};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::Value;

/// A whole response.
pub struct Reply {
    /// Of the request.
    pub method: Method,
    uri: Uri,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub(crate) async fn read(method: Method, uri: Uri, response: Response) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            method,
            uri,
            status: parts.status,
            headers: parts.headers,
            body: to_bytes(body, usize::MAX).await.expect("a whole body"),
        }
    }

    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("a header of ASCII"))
    }

    /// Expects status 200; returns the JSON body.
    #[track_caller]
    pub fn ok(&self) -> Value {
        self.expect_ok().json()
    }

    #[track_caller]
    pub fn expect_ok(&self) -> &Self {
        self.expect_status(200)
    }

    #[track_caller]
    pub fn expect_status(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Checks status and body.
    #[track_caller]
    pub fn expect_json(&self, status: u16, body: Value) -> &Self {
        self.expect_status(status);
        assert_eq!(self.json(), body, "{self:?}");
        self
    }

    /// Checks status and body.
    #[track_caller]
    pub fn expect_text(&self, status: u16, body: &str) -> &Self {
        self.expect_status(status);
        assert_eq!(self.text(), body, "{self:?}");
        self
    }

    #[track_caller]
    pub fn expect_header(&self, name: &str, value: &str) -> &Self {
        assert_eq!(self.header(name), Some(value), "{name} of {self:?}");
        self
    }

    #[track_caller]
    pub fn expect_no_header(&self, name: &str) -> &Self {
        assert_eq!(self.header(name), None, "{name} of {self:?}");
        self
    }
}

/// As on the wire.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}\n{}", self.method, self.uri, self.status)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        write!(f, "\n{}", String::from_utf8_lossy(&self.body))
    }
}
