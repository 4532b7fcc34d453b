//! Whole answers, and what must be true of each.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response::Parts};
use serde_json::{Value, json};

pub(crate) const JSON: &str = "application/json; charset=utf-8";

/// What came back.
pub(crate) struct Reply {
    asked: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
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

    /// Status and body; the headers are looked at elsewhere.
    #[track_caller]
    pub(crate) fn gives(&self, status: u16, body: Value) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:#?}");
        assert_eq!(self.json(), body, "{self:#?}");
        self
    }

    /// The whole answer: these headers and no others, this text.
    ///
    /// `Vary` is in every answer and need not be listed. `Content-Length` must be right where
    /// there is one, and is listed only where its value is the point.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, headers: &[(&str, &str)], body: &str) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:#?}");
        assert_eq!(self.text(), body, "{self:#?}");
        self.has_only(headers)
    }

    /// As [`Reply::is`], with a body that is compared as JSON.
    #[track_caller]
    pub(crate) fn is_json(&self, status: u16, headers: &[(&str, &str)], body: Value) -> &Self {
        self.gives(status, body).has_only(headers)
    }

    #[track_caller]
    fn has_only(&self, expected: &[(&str, &str)]) -> &Self {
        let implied = |name: &str| {
            let is_listed = expected.iter().any(|(listed, _)| *listed == name);
            !is_listed && matches!(name, "vary" | "content-length")
        };
        let pairs = self
            .headers
            .iter()
            .filter(|(name, _)| !implied(name.as_str()));
        let mut found: Vec<(&str, &str)> = pairs
            .map(|(name, value)| (name.as_str(), value.to_str().expect("ASCII")))
            .collect();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{self:#?}");
        if implied("vary") {
            assert_eq!(self.header("vary"), Some("Accept, Prefer, Range"));
        }
        match self.header("content-length") {
            Some(length) => assert_eq!(length, self.body.len().to_string(), "{self:#?}"),
            None => assert!(self.body.is_empty(), "{self:#?}"),
        }
        self
    }

    /// An error with nothing more to say.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str, message: &str) -> &Self {
        self.refuses_with(status, code, message, Value::Null, Value::Null)
    }

    /// An error: its four keys in their order, and the headers that every error has.
    #[track_caller]
    pub(crate) fn refuses_with(
        &self,
        status: u16,
        code: &str,
        message: &str,
        details: Value,
        hint: Value,
    ) -> &Self {
        let body = json!({ "code": code, "details": details, "hint": hint, "message": message });
        self.gives(status, body).refuses_as(status, code)
    }

    /// An error whose texts are not the point.
    #[track_caller]
    pub(crate) fn refuses_as(&self, status: u16, code: &str) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{self:#?}");
        assert!(self.has_error_body(), "{self:#?}");
        assert_eq!(self.json()["code"], code, "{self:#?}");
        let proxy_status = format!("PostgREST; error={code}");
        assert_eq!(self.header("proxy-status"), Some(proxy_status.as_str()));
        assert_eq!(self.header("content-type"), Some(JSON));
        assert_eq!(self.header("preference-applied"), None, "{self:#?}");
        self
    }

    /// Whether the body is the contract's: four keys, in this order.
    pub(crate) fn has_error_body(&self) -> bool {
        let text = self.text();
        let Ok(Value::Object(body)) = serde_json::from_str::<Value>(text) else {
            return false;
        };
        let keys: Vec<&str> = body.keys().map(String::as_str).collect();
        keys == ["code", "details", "hint", "message"] && text.starts_with("{\"code\":")
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
