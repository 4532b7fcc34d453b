//! One request on its way.

use std::future::IntoFuture;

use axum::{Router, body::Body};
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{PUBLISHABLE_KEY, Reply, sign};

/// A request; awaiting it sends it.
pub(crate) struct Call {
    router: Router,
    request: Request<Body>,
}

impl Call {
    pub(super) fn new(router: Router, method: Method, path: &str) -> Self {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .body(Body::empty());
        let call = Self {
            router,
            request: request.expect("a good path"),
        };
        call.header("apikey", PUBLISHABLE_KEY)
            .header("x-supabase-api-version", "2024-01-01")
    }

    /// Replaces what was there under this name.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
        self.request.headers_mut().insert(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().remove(name);
        self
    }

    pub(crate) fn without_key(self) -> Self {
        self.without("apikey")
    }

    /// Asks for errors as they were before 2024.
    pub(crate) fn old_version(self) -> Self {
        self.without("x-supabase-api-version")
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// As the user of a token answer.
    pub(crate) fn session(self, tokens: &Value) -> Self {
        let token = tokens["access_token"].as_str().expect("an access token");
        self.bearer(token)
    }

    /// With the rights of `service_role`.
    pub(crate) fn service_role(self) -> Self {
        self.bearer(&sign(&json!({ "role": "service_role" })))
    }

    /// From another address than this machine's.
    pub(crate) fn from(self, ip: &str) -> Self {
        self.header("x-test-client", ip)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", &body.to_string())
    }

    pub(crate) fn form(self, body: &str) -> Self {
        self.body("application/x-www-form-urlencoded", body)
    }

    pub(crate) fn body(mut self, content_type: &str, body: &str) -> Self {
        *self.request.body_mut() = Body::from(body.to_owned());
        self.header("content-type", content_type)
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
