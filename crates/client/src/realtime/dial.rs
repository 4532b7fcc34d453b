//! WebSockets over connections that reqwest opens, so that proxies, certificates and TLS settings of
//! all other requests apply.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Sink, Stream};
use http::{HeaderValue, StatusCode, header};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use super::{Connect, ConnectRequest, Connection, SocketMessage};
use crate::http::{TransportError, reqwest_for_upgrades, said_by_reqwest};
use crate::runtime::BoxFuture;

/// Maximum size of a message: more than any server sends, small enough to be safe.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// How much of an error response is read.
const MAX_ERROR_BYTES: usize = 4096;

/// The default transport.
pub(super) struct OverReqwest(Result<reqwest::Client, TransportError>);

impl OverReqwest {
    pub(super) fn new() -> Self {
        Self(reqwest_for_upgrades())
    }

    async fn dial(&self, request: ConnectRequest) -> Result<Connection, TransportError> {
        let client = self.0.as_ref().map_err(Clone::clone)?;
        let url = request.url.replacen("ws", "http", 1);
        let key = generate_key();
        let response = client
            .get(url)
            .headers(request.headers)
            .header(header::CONNECTION, HeaderValue::from_static("upgrade"))
            .header(header::UPGRADE, HeaderValue::from_static("websocket"))
            .header(
                header::SEC_WEBSOCKET_VERSION,
                HeaderValue::from_static("13"),
            )
            .header(header::SEC_WEBSOCKET_KEY, &key)
            .send()
            .await
            .map_err(|error| said_by_reqwest(&error))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(rejection_error(response).await);
        }
        let accepted = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        if accepted.is_none_or(|accepted| accepted != derive_accept_key(key.as_bytes()).as_str()) {
            return Err(TransportError::new("the server does not speak WebSocket"));
        }
        let upgraded = response.upgrade().await;
        let upgraded = upgraded.map_err(|error| said_by_reqwest(&error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config));
        Ok(Box::new(Socket(socket.await)))
    }
}

impl Connect for OverReqwest {
    fn connect(
        &self,
        request: ConnectRequest,
    ) -> BoxFuture<'_, Result<Connection, TransportError>> {
        Box::pin(self.dial(request))
    }
}

/// The error of a rejected handshake, with the server's message if it has one.
async fn rejection_error(mut response: reqwest::Response) -> TransportError {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > MAX_ERROR_BYTES {
            break;
        }
    }
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let why = body.get("error").or_else(|| body.get("message"));
    match why.and_then(serde_json::Value::as_str) {
        Some(why) => TransportError::new(format!("{why} (status {status})")),
        None => TransportError::new(format!("the server responded with status {status}")),
    }
}

/// Adapter for tungstenite's WebSocket.
struct Socket(WebSocketStream<reqwest::Upgraded>);

impl Stream for Socket {
    type Item = Result<SocketMessage, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let next = Pin::new(&mut self.0).poll_next(context);
            let message = match std::task::ready!(next) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(failure(&error)))),
                Some(Ok(message)) => message,
            };
            let message = match message {
                Message::Text(text) => SocketMessage::Text(text.as_str().to_owned()),
                Message::Binary(bytes) => SocketMessage::Binary(bytes),
                Message::Close(frame) => SocketMessage::Close {
                    code: frame.as_ref().map_or(1005, |frame| frame.code.into()),
                    reason: frame.map_or_else(String::new, |frame| frame.reason.to_string()),
                },
                // Pongs are sent with the next write or read.
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
            };
            return Poll::Ready(Some(Ok(message)));
        }
    }
}

impl Sink<SocketMessage> for Socket {
    type Error = TransportError;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), TransportError>> {
        let ready = Pin::new(&mut self.0).poll_ready(context);
        ready.map_err(|error| failure(&error))
    }

    fn start_send(mut self: Pin<&mut Self>, message: SocketMessage) -> Result<(), TransportError> {
        let message = match message {
            SocketMessage::Text(text) => Message::text(text),
            SocketMessage::Binary(bytes) => Message::Binary(bytes),
            SocketMessage::Close { code, reason } => Message::Close(Some(CloseFrame {
                code: code.into(),
                reason: reason.into(),
            })),
        };
        let sent = Pin::new(&mut self.0).start_send(message);
        sent.map_err(|error| failure(&error))
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), TransportError>> {
        let flushed = Pin::new(&mut self.0).poll_flush(context);
        flushed.map_err(|error| failure(&error))
    }

    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), TransportError>> {
        let closed = Pin::new(&mut self.0).poll_close(context);
        closed.map_err(|error| failure(&error))
    }
}

fn failure(error: &tungstenite::Error) -> TransportError {
    TransportError::new(error.to_string())
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn dial(url: String) -> Result<Connection, TransportError> {
        let headers = HeaderMap::new();
        let dialing = OverReqwest::new();
        dialing.connect(ConnectRequest { url, headers }).await
    }

    /// The error for a server that responds with this.
    async fn rejection_error_for(reply: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        let answering = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let read = connection.read(&mut request).await.unwrap();
            connection.write_all(reply.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..read]).to_lowercase()
        };
        let (request, dialed) = futures_util::future::join(answering, dial(url)).await;
        for header in [
            "upgrade: websocket",
            "sec-websocket-version: 13",
            "sec-websocket-key: ",
        ] {
            assert!(request.contains(header), "{request}");
        }
        match dialed {
            Ok(_) => panic!("connected"),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn rejections_carry_the_text_of_the_server() {
        let json = "HTTP/1.1 401 X\r\ncontent-length: 29\r\n\r\n{\"error\":\"Token has expired\"}";
        assert_eq!(
            rejection_error_for(json).await,
            "Token has expired (status 401)"
        );
        let page = "HTTP/1.1 502 X\r\ncontent-length: 3\r\n\r\n<p>";
        assert_eq!(
            rejection_error_for(page).await,
            "the server responded with status 502"
        );
        let plain = "HTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(
            rejection_error_for(plain).await,
            "the server responded with status 200"
        );
    }

    #[tokio::test]
    async fn a_server_with_a_wrong_accept_key_is_rejected() {
        let head = "HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
        assert_eq!(
            rejection_error_for(head).await,
            "the server does not speak WebSocket"
        );
        let wrong = "HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                     sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        assert_eq!(
            rejection_error_for(wrong).await,
            "the server does not speak WebSocket"
        );
    }

    #[cfg(any(feature = "rustls", feature = "native-tls"))]
    #[tokio::test]
    async fn secure_addresses_are_spoken_to_with_tls() {
        /// The first byte of a TLS connection.
        const HANDSHAKE: u8 = 0x16;

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("wss://{}/", listener.local_addr().unwrap());
        let first_byte = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            connection.read_u8().await.unwrap()
        };

        let (first_byte, dialed) = futures_util::future::join(first_byte, dial(url)).await;

        assert_eq!(first_byte, HANDSHAKE);
        assert!(dialed.is_err());
    }
}
