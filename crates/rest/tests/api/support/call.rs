//! One request on its way.

use std::future::IntoFuture;

use axum::{Router, body::Body};
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Reply, sign, user_token};

/// A request; awaiting it sends it.
pub(crate) struct Call {
    router: Router,
    request: Request<Body>,
}

impl Call {
    /// The path may hold what a URL may not, such as spaces; that is encoded.
    pub(crate) fn new(router: Router, method: Method, path: &str) -> Self {
        let request = Request::builder()
            .method(method)
            .uri(encode(path))
            .body(Body::empty());
        Self {
            router,
            request: request.expect("a good path"),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
        self.request.headers_mut().append(name, value);
        self
    }

    pub(crate) fn prefer(self, value: &str) -> Self {
        self.header("Prefer", value)
    }

    pub(crate) fn accept(self, value: &str) -> Self {
        self.header("Accept", value)
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// With a token that says nothing but the role.
    pub(crate) fn role(self, role: &str) -> Self {
        self.bearer(&sign(&json!({ "role": role })))
    }

    /// As a signed-in user.
    pub(crate) fn user(self, id: &str) -> Self {
        self.bearer(&user_token(id))
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", &body.to_string())
    }

    pub(crate) fn body(mut self, content_type: &str, body: &str) -> Self {
        *self.request.body_mut() = Body::from(body.to_owned());
        self.header("Content-Type", content_type)
    }

    /// The request itself, for those who need more.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Request<Body>)) -> Self {
        change(&mut self.request);
        self
    }
}

impl IntoFuture for Call {
    type Output = Reply;
    type IntoFuture = BoxFuture<'static, Reply>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let asked = format!("{} {}", self.request.method(), self.request.uri());
            let response = self.router.oneshot(self.request).await;
            let (parts, body) = response.expect("infallible").into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            Reply::new(asked, parts, body)
        })
    }
}

fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'#' | b' ' | b'{' | b'}' | 0x7f.. | ..=0x1f => {
                encoded.push_str(&format!("%{byte:02X}"));
            }
            _ => encoded.push(char::from(byte)),
        }
    }
    encoded
}
