//! Assertions about responses of the service.

use plinth_testkit::Reply;
use serde_json::{Value, json};

pub(crate) const JSON: &str = "application/json; charset=utf-8";

pub(crate) trait RestReply {
    /// Checks the whole response: exactly these headers, and this text.
    ///
    /// `Vary` is in every response and need not be listed. `Content-Length` must be correct if
    /// present, and is listed only if its value matters.
    fn expect_whole(&self, status: u16, headers: &[(&str, &str)], body: &str) -> &Self;
    /// As [`RestReply::expect_whole`], with a body that is compared as JSON.
    fn expect_whole_json(&self, status: u16, headers: &[(&str, &str)], body: Value) -> &Self;
    /// An error without details and hint.
    fn expect_error(&self, status: u16, code: &str, message: &str) -> &Self {
        self.expect_error_with(status, code, message, Value::Null, Value::Null)
    }
    /// An error: its four keys in order, and the headers that every error has.
    fn expect_error_with(
        &self,
        status: u16,
        code: &str,
        message: &str,
        details: Value,
        hint: Value,
    ) -> &Self;
    /// An error with any texts.
    fn expect_error_code(&self, status: u16, code: &str) -> &Self;
    /// Whether the body has the four keys of the contract, in this order.
    fn has_error_body(&self) -> bool;
}

impl RestReply for Reply {
    #[track_caller]
    fn expect_whole(&self, status: u16, headers: &[(&str, &str)], body: &str) -> &Self {
        expect_only_headers(self.expect_text(status, body), headers)
    }

    #[track_caller]
    fn expect_whole_json(&self, status: u16, headers: &[(&str, &str)], body: Value) -> &Self {
        expect_only_headers(self.expect_json(status, body), headers)
    }

    #[track_caller]
    fn expect_error_with(
        &self,
        status: u16,
        code: &str,
        message: &str,
        details: Value,
        hint: Value,
    ) -> &Self {
        let body = json!({ "code": code, "details": details, "hint": hint, "message": message });
        self.expect_json(status, body)
            .expect_error_code(status, code)
    }

    #[track_caller]
    fn expect_error_code(&self, status: u16, code: &str) -> &Self {
        self.expect_status(status);
        assert!(self.has_error_body(), "{self:?}");
        assert_eq!(self.json()["code"], code, "{self:?}");
        self.expect_header("proxy-status", &format!("PostgREST; error={code}"))
            .expect_header("content-type", JSON)
            .expect_no_header("preference-applied")
    }

    fn has_error_body(&self) -> bool {
        let text = self.text();
        let Ok(Value::Object(body)) = serde_json::from_str::<Value>(text) else {
            return false;
        };
        let keys: Vec<&str> = body.keys().map(String::as_str).collect();
        keys == ["code", "details", "hint", "message"] && text.starts_with("{\"code\":")
    }
}

#[track_caller]
fn expect_only_headers<'a>(reply: &'a Reply, expected: &[(&str, &str)]) -> &'a Reply {
    let implied = |name: &str| {
        let is_listed = expected.iter().any(|(listed, _)| *listed == name);
        !is_listed && matches!(name, "vary" | "content-length")
    };
    let pairs = reply
        .headers
        .iter()
        .filter(|(name, _)| !implied(name.as_str()));
    let mut found: Vec<(&str, &str)> = pairs
        .map(|(name, value)| (name.as_str(), value.to_str().expect("ASCII")))
        .collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{reply:?}");
    if implied("vary") {
        reply.expect_header("vary", "Accept, Prefer, Range");
    }
    match reply.header("content-length") {
        Some(length) => assert_eq!(length, reply.body.len().to_string(), "{reply:?}"),
        None => assert!(reply.body.is_empty(), "{reply:?}"),
    }
    reply
}
