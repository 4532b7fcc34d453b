//! One request on its way, and what came back.

use std::{future::IntoFuture, io};

use axum::{Router, body::Body};
use bytes::Bytes;
use futures_util::{future::BoxFuture, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use tokio::{sync::mpsc, task::JoinHandle};
use tower::ServiceExt;

use super::{BASE, PUBLIC_URL};

/// A request; awaiting it sends it.
pub(crate) struct Call {
    router: Router,
    request: Request<Body>,
}

impl Call {
    pub(crate) fn new(router: Router, method: Method, path: &str) -> Self {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::empty()).expect("a good path");
        Self { router, request }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        let value = HeaderValue::from_str(value).expect("a value");
        self.request.headers_mut().insert(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().remove(name);
        self
    }

    /// A body whose length is known.
    pub(crate) fn body(mut self, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let length = bytes.len().to_string();
        *self.request.body_mut() = Body::from(bytes);
        self.header("content-length", &length)
    }

    /// A body of unknown length that comes when the test sends it.
    pub(crate) fn stream(mut self) -> (Sender, JoinHandle<Reply>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let stream = stream::unfold(receiver, |mut receiver| async move {
            let next: io::Result<Bytes> = receiver.recv().await?;
            Some((next, receiver))
        });
        *self.request.body_mut() = Body::from_stream(stream);
        (Sender(sender), tokio::spawn(self.into_future()))
    }
}

/// The client's end of a body; dropped, the body is complete.
pub(crate) struct Sender(mpsc::UnboundedSender<io::Result<Bytes>>);

impl Sender {
    pub(crate) fn send(&self, bytes: &'static str) {
        _ = self.0.send(Ok(Bytes::from(bytes)));
    }

    /// The client goes away.
    pub(crate) fn abort(self) {
        _ = self.0.send(Err(io::ErrorKind::ConnectionReset.into()));
    }
}

impl IntoFuture for Call {
    type Output = Reply;
    type IntoFuture = BoxFuture<'static, Reply>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let is_head = self.request.method() == Method::HEAD;
            let response = self.router.oneshot(self.request).await;
            let (parts, body) = response.expect("infallible").into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            Reply {
                status: parts.status,
                headers: parts.headers,
                body,
                is_head,
            }
        })
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Then there is no body, whatever there is to say.
    is_head: bool,
}

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        Some(value.to_str().expect("a header of ASCII"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// Status and text; every answer of the protocol names its version.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, text: &str) -> &Self {
        let text = if self.is_head { "" } else { text };
        assert_eq!((self.status(), self.text()), (status, text), "{self:?}");
        assert_eq!(self.header("tus-resumable"), Some("1.0.0"), "{self:?}");
        self
    }

    /// A refusal: plain text, and the connection ends with it.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, text: &str) -> &Self {
        let kind = self.header("content-type");
        assert_eq!(kind, Some("text/plain; charset=utf-8"), "{self:?}");
        assert_eq!(self.header("connection"), Some("close"), "{self:?}");
        self.is(status, text)
    }

    #[track_caller]
    pub(crate) fn has(&self, headers: &[(&str, Option<&str>)]) -> &Self {
        for (name, value) in headers {
            assert_eq!(self.header(name), *value, "{name} of {self:?}");
        }
        self
    }

    /// The path of the upload that was made.
    #[track_caller]
    pub(crate) fn upload(&self) -> String {
        self.is(201, "");
        let location = self.header("location").expect("a place");
        let mount = format!("{PUBLIC_URL}/storage/v1");
        let path = location.strip_prefix(&mount).expect(location);
        assert!(path.starts_with(BASE), "{path}");
        path.to_owned()
    }
}
