//! Whole answers, and what must be true of each.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response::Parts};
use serde_json::Value;

/// What came back.
pub(crate) struct Reply {
    asked: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(super) fn new(asked: String, parts: Parts, body: Bytes) -> Self {
        Self {
            asked,
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("a header of ASCII"))
    }

    /// Where it sends the browser.
    #[track_caller]
    pub(crate) fn location(&self) -> &str {
        let location = self.header("location");
        location.unwrap_or_else(|| panic!("no redirect: {self:?}"))
    }

    /// A success; its body.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// An error of the dated version, with this status and code.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.json()["code"], code, "{self:?}");
        assert_eq!(self.header("x-sb-error-code"), Some(code), "{self:?}");
        self
    }

    /// The same, and this text.
    #[track_caller]
    pub(crate) fn refuses_with(&self, status: u16, code: &str, message: &str) -> &Self {
        self.refuses(status, code);
        assert_eq!(self.json()["message"], message, "{self:?}");
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
