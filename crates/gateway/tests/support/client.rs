//! HTTP clients that show the whole response.

use std::net::SocketAddr;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

/// One connection.
pub enum Client {
    /// With the `Host` that it sends, unless a test gives another.
    Http1(http1::SendRequest<Body>, String),
    Http2(http2::SendRequest<Body>),
}

/// A whole response.
#[derive(Debug)]
pub struct TestResponse {
    pub version: Version,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl TestResponse {
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/json", "{self:?}");
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// A header's text; empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// Status and code of an edge error, which must be readable for browsers.
    pub fn error(&self) -> (u16, String) {
        assert_eq!(self.header("access-control-allow-origin"), "*");
        let body = self.json();
        assert!(body["message"].is_string(), "{body}");
        (
            self.status.as_u16(),
            body["code"].as_str().unwrap_or_default().to_owned(),
        )
    }
}

impl Client {
    pub async fn http1(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Self::http1_at(stream, address.to_string()).await
    }

    pub async fn http1_on(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        Self::http1_at(stream, "localhost".to_owned()).await
    }

    async fn http1_at(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        host: String,
    ) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/1.1");
        tokio::spawn(connection.with_upgrades());
        Self::Http1(sender, host)
    }

    pub async fn http2_on(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let io = TokioIo::new(stream);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io)
            .await
            .expect("HTTP/2");
        tokio::spawn(connection);
        Self::Http2(sender)
    }

    pub async fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> TestResponse {
        self.send(Method::GET, path, headers, Body::empty()).await
    }

    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> TestResponse {
        let mut request = Request::builder().method(method);
        request = match self {
            Self::Http1(_, host) => {
                let is_given = headers.iter().any(|(name, _)| *name == "host");
                let request = request.uri(path);
                if is_given {
                    request
                } else {
                    request.header("host", host.as_str())
                }
            }
            Self::Http2(_) => request.uri(format!("http://localhost{path}")),
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).expect("a request");
        let response = match self {
            Self::Http1(sender, _) => {
                sender.ready().await.expect("an open connection");
                sender.send_request(request).await.expect("a response")
            }
            Self::Http2(sender) => sender.send_request(request).await.expect("a response"),
        };
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        TestResponse {
            version: parts.version,
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }
}

/// Sends bytes as they are, and reads until the server closes.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(bytes).await.expect("sent");
    let mut response = Vec::new();
    // A reset is as good an end as any other.
    let _ = stream.read_to_end(&mut response).await;
    String::from_utf8_lossy(&response).into_owned()
}
