//! One request on its way.

use std::future::IntoFuture;

use axum::{Router, body::Body};
use bytes::Bytes;
use futures_util::{future::BoxFuture, stream};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Form, Reply, sign};

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
        self.request.headers_mut().insert(name, value);
        self
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// With a token that says nothing but the role.
    pub(crate) fn role(self, role: &str) -> Self {
        self.bearer(&sign(&json!({ "role": role })))
    }

    /// Whom no policy holds.
    pub(crate) fn service(self) -> Self {
        self.role("service_role")
    }

    /// As a signed-in user.
    pub(crate) fn user(self, id: &str) -> Self {
        self.bearer(&sign(&json!({ "role": "authenticated", "sub": id })))
    }

    pub(crate) fn upsert(self) -> Self {
        self.header("x-upsert", "true")
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", &body.to_string())
    }

    /// A body of known length.
    pub(crate) fn body(mut self, content_type: &str, body: &str) -> Self {
        *self.request.body_mut() = Body::from(body.to_owned());
        self.header("Content-Type", content_type)
            .header("Content-Length", &body.len().to_string())
    }

    /// A body in pieces, of which nobody says how long it is.
    pub(crate) fn stream(mut self, content_type: &str, pieces: &[&str]) -> Self {
        let pieces: Vec<Result<Bytes, std::io::Error>> = pieces
            .iter()
            .map(|piece| Ok(Bytes::from((*piece).to_owned())))
            .collect();
        *self.request.body_mut() = Body::from_stream(stream::iter(pieces));
        self.header("Content-Type", content_type)
    }

    /// A body that breaks off behind its first piece.
    pub(crate) fn broken(mut self, content_type: &str, piece: &str) -> Self {
        let pieces = [
            Ok(Bytes::from(piece.to_owned())),
            Err(std::io::Error::other("the client went away")),
        ];
        *self.request.body_mut() = Body::from_stream(stream::iter(pieces));
        self.header("Content-Type", content_type)
    }

    pub(crate) fn form(self, form: &Form) -> Self {
        let (content_type, body) = form.encode();
        self.body(&content_type, &body)
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
            b'"'
            | b'<'
            | b'>'
            | b'#'
            | b'\\'
            | b'^'
            | b'`'
            | b'{'
            | b'|'
            | b'}'
            | 0x7f..
            | ..=0x20 => {
                encoded.push_str(&format!("%{byte:02X}"));
            }
            _ => encoded.push(char::from(byte)),
        }
    }
    encoded
}
