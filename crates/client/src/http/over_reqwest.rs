//! Requests over reqwest.

use bytes::Bytes;

use super::{
    HttpResponse, Outgoing, Pieces, StreamedBody, StreamedResponse, Transport, TransportError,
};
use crate::runtime::BoxFuture;

#[cfg(not(target_arch = "wasm32"))]
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

pub(super) struct OverReqwest(Result<reqwest::Client, TransportError>);

impl OverReqwest {
    pub(super) fn new() -> Self {
        Self(builder().build().map_err(|error| transport_error(&error)))
    }

    pub(super) fn with(client: reqwest::Client) -> Self {
        Self(Ok(client))
    }

    async fn exchange(&self, request: Outgoing) -> Result<HttpResponse, TransportError> {
        let max_bytes = request.max_response_bytes;
        let response = self.begin(request, None).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = read(response, max_bytes).await?;
        Ok(HttpResponse {
            status,
            headers,
            body,
        })
    }

    async fn open(
        &self,
        request: Outgoing,
        body: Option<StreamedBody>,
    ) -> Result<StreamedResponse, TransportError> {
        let body = match body {
            Some(body) => Some(outgoing_body(body).await?),
            None => None,
        };
        let response = self.begin(request, body).await?;
        Ok(StreamedResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: pieces(response),
        })
    }

    /// Sends the request; the response's body is not read yet.
    async fn begin(
        &self,
        request: Outgoing,
        body: Option<reqwest::Body>,
    ) -> Result<reqwest::Response, TransportError> {
        let client = self.0.as_ref().map_err(Clone::clone)?;
        let url = url::Url::parse(&request.url)
            .map_err(|_| TransportError::new("the request's URL is malformed"))?;
        let origin = url.origin();
        let mut outgoing = reqwest::Request::new(request.method, url);
        *outgoing.headers_mut() = request.headers;
        *outgoing.body_mut() = match body {
            None if request.body.is_empty() => None,
            None => Some(request.body.into()),
            streamed => streamed,
        };

        let response = client
            .execute(outgoing)
            .await
            .map_err(|error| transport_error(&error))?;

        // A custom client may follow redirects; a response of another host is not accepted.
        if response.url().origin() != origin {
            return Err(TransportError::new("the response came from another host"));
        }
        Ok(response)
    }
}

fn builder() -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder();
    // Our services never redirect, and a redirect would leak the key. The connect timeout is short
    // because all users of a session wait for its refresh.
    #[cfg(not(target_arch = "wasm32"))]
    let builder = builder
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    // Explicit, because another crate may have enabled both features.
    #[cfg(all(feature = "native-tls", not(target_arch = "wasm32")))]
    let builder = builder.tls_backend_native();
    #[cfg(all(
        feature = "rustls",
        not(any(feature = "native-tls", target_arch = "wasm32"))
    ))]
    let builder = builder.tls_backend_rustls();
    builder
}

/// For WebSocket upgrades, which need HTTP/1.1.
#[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
pub(crate) fn reqwest_for_upgrades() -> Result<reqwest::Client, TransportError> {
    let client = builder().http1_only().build();
    client.map_err(|error| transport_error(&error))
}

impl Transport for OverReqwest {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(self.exchange(request))
    }

    fn stream(
        &self,
        request: Outgoing,
        body: Option<StreamedBody>,
    ) -> BoxFuture<'_, Result<StreamedResponse, TransportError>> {
        Box::pin(self.open(request, body))
    }
}

#[cfg(not(target_arch = "wasm32"))]
async fn outgoing_body(body: StreamedBody) -> Result<reqwest::Body, TransportError> {
    Ok(reqwest::Body::wrap(body))
}

/// Browsers send whole bodies.
#[cfg(target_arch = "wasm32")]
async fn outgoing_body(body: StreamedBody) -> Result<reqwest::Body, TransportError> {
    Ok(body.collect().await?.into())
}

#[cfg(not(target_arch = "wasm32"))]
fn pieces(response: reqwest::Response) -> Pieces {
    Box::pin(futures_util::stream::try_unfold(
        response,
        async |mut response| {
            let piece = response
                .chunk()
                .await
                .map_err(|error| transport_error(&error))?;
            Ok(piece.map(|piece| (piece, response)))
        },
    ))
}

/// The whole body as one chunk.
#[cfg(target_arch = "wasm32")]
fn pieces(response: reqwest::Response) -> Pieces {
    Box::pin(futures_util::stream::once(read(response, usize::MAX)))
}

#[cfg(not(target_arch = "wasm32"))]
async fn read(mut response: reqwest::Response, max_bytes: usize) -> Result<Bytes, TransportError> {
    let mut body = bytes::BytesMut::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| transport_error(&error))?
    {
        if body.len() + chunk.len() > max_bytes {
            return Err(super::too_large(max_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

#[cfg(target_arch = "wasm32")]
async fn read(response: reqwest::Response, max_bytes: usize) -> Result<Bytes, TransportError> {
    let body = response
        .bytes()
        .await
        .map_err(|error| transport_error(&error))?;
    if body.len() > max_bytes {
        return Err(super::too_large(max_bytes));
    }
    Ok(body)
}

/// The error with its causes and without the URL.
pub(crate) fn transport_error(error: &reqwest::Error) -> TransportError {
    // A connect timeout counts as a network error: nothing was sent.
    let what = match (failed_to_connect(error), error.is_timeout()) {
        (true, _) => TransportError::new("cannot connect"),
        (false, true) => TransportError::timed_out(),
        (false, false) => TransportError::new("the request failed"),
    };
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let message = causes.fold(what.message, |text, cause| format!("{text}: {cause}"));
    TransportError { message, ..what }
}

#[cfg(not(target_arch = "wasm32"))]
fn failed_to_connect(error: &reqwest::Error) -> bool {
    error.is_connect()
}

/// Not available in browsers.
#[cfg(target_arch = "wasm32")]
fn failed_to_connect(_: &reqwest::Error) -> bool {
    false
}

#[cfg(all(test, any(feature = "rustls", feature = "native-tls")))]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    /// The first byte of a TLS connection.
    const HANDSHAKE: u8 = 0x16;

    #[tokio::test]
    async fn a_feature_brings_tls() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let first_byte = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            connection.read_u8().await.unwrap()
        };
        let client = OverReqwest::new().0.unwrap();

        let both = futures_util::future::join(first_byte, client.get(url).send());
        let both = tokio::time::timeout(Duration::from_secs(10), both).await;

        let (first_byte, reply) = both.expect("a connection");
        assert_eq!(first_byte, HANDSHAKE);
        assert!(reply.is_err());
    }
}
