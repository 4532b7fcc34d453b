//! Requests to a router.

use std::future::IntoFuture;

use axum::{Router, body::Body};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request};
use plinth_project::BoxFuture;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{Reply, sign, user_token};

/// A request; awaiting it sends it.
pub struct Call {
    router: Router,
    request: Request<Body>,
}

impl Call {
    /// Characters of the path that a URL may not contain, such as spaces, are percent-encoded.
    pub fn new(router: Router, method: Method, path: &str) -> Self {
        let request = Request::builder()
            .method(method)
            .uri(encode(path))
            .body(Body::empty());
        Self {
            router,
            request: request.expect("a good path"),
        }
    }

    /// Sets a header; an earlier value is replaced.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let (name, value) = header_pair(name, value);
        self.request.headers_mut().insert(name, value);
        self
    }

    /// Adds a header next to those of the same name.
    pub fn add_header(mut self, name: &str, value: &str) -> Self {
        let (name, value) = header_pair(name, value);
        self.request.headers_mut().append(name, value);
        self
    }

    /// Sets several headers.
    pub fn headers(self, pairs: &[(&str, &str)]) -> Self {
        pairs
            .iter()
            .fold(self, |call, (name, value)| call.header(name, value))
    }

    /// Removes a header.
    pub fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().remove(name);
        self
    }

    /// With this token in `Authorization`.
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// With a token that has only a role.
    pub fn role(self, role: &str) -> Self {
        self.bearer(&sign(&json!({ "role": role })))
    }

    /// As `service_role`, which bypasses policies.
    pub fn service_role(self) -> Self {
        self.role("service_role")
    }

    /// As a signed-in user.
    pub fn user(self, id: &str) -> Self {
        self.bearer(&user_token(id))
    }

    /// With a JSON body.
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    /// With a body of this type and of known length.
    pub fn body(self, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        self.bytes(body).header("content-type", content_type)
    }

    /// With a body of known length and no type.
    pub fn bytes(self, body: impl AsRef<[u8]>) -> Self {
        let body = Bytes::copy_from_slice(body.as_ref());
        let length = body.len().to_string();
        self.with(|request| *request.body_mut() = Body::from(body))
            .header("content-length", &length)
    }

    /// Changes the request itself.
    pub fn with(mut self, change: impl FnOnce(&mut Request<Body>)) -> Self {
        change(&mut self.request);
        self
    }
}

impl IntoFuture for Call {
    type Output = Reply;
    type IntoFuture = BoxFuture<'static, Reply>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (method, uri) = (self.request.method().clone(), self.request.uri().clone());
            let response = self.router.oneshot(self.request).await;
            Reply::read(method, uri, response.expect("infallible")).await
        })
    }
}

fn header_pair(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
    let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
    (name, value)
}

fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !br#""<>#\^`{|}"#.contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_encoded_as_clients_do() {
        let encoded = encode("/a b?select=*,c(\"d\")&e=eq.ü%20|");
        assert_eq!(encoded, "/a%20b?select=*,c(%22d%22)&e=eq.%C3%BC%20%7C");
    }
}
