//! A websocket of a test.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, Message, client::IntoClientRequest as _},
};

use super::TEST_TIMEOUT;

/// A client's side.
pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// A handshake that was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RejectedHandshake {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

/// How a socket ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed(pub(crate) Option<u16>);

impl Socket {
    pub(crate) async fn open(
        address: SocketAddr,
        query: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, RejectedHandshake> {
        let url = format!("ws://{address}/websocket?{query}");
        let mut request = url.into_client_request().expect("a request");
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).expect("a header");
            let name = HeaderName::from_static(name);
            request.headers_mut().insert(name, value);
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tungstenite::Error::Http(response)) => {
                let body = response.body().clone().unwrap_or_default();
                Err(RejectedHandshake {
                    status: response.status(),
                    body: serde_json::from_slice(&body).unwrap_or_default(),
                })
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    pub(crate) async fn send(&mut self, frame: Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        let sent = self.0.send(Message::text(text)).await;
        sent.expect("the socket is open");
    }

    /// Where the server may have ended the socket.
    pub(crate) async fn try_send(&mut self, frame: Value) {
        _ = self.0.send(Message::text(frame.to_string())).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: Vec<u8>) {
        // The server may end the socket before all of it is taken.
        _ = self.0.send(Message::binary(bytes)).await;
    }

    /// Counts as a frame, and has no reply: for a client that only reads for a long time.
    pub(crate) async fn keep_alive(&mut self) {
        let sent = self.0.send(Message::Pong(Default::default())).await;
        sent.expect("the socket is open");
    }

    /// Joins and returns the payload of the reply.
    pub(crate) async fn join(&mut self, reference: &str, topic: &str, payload: Value) -> Value {
        self.send(json!([reference, reference, topic, "phx_join", payload]))
            .await;
        let frame = self.next().await;
        assert_eq!(frame[1], reference, "{frame}");
        assert_eq!(frame[3], "phx_reply", "{frame}");
        frame[4].clone()
    }

    /// Joins with nothing special, which must succeed.
    pub(crate) async fn join_ok(&mut self, reference: &str, topic: &str) {
        let reply = self.join(reference, topic, json!({ "config": {} })).await;
        assert_eq!(reply["status"], "ok", "{reply}");
    }

    /// The next text frame.
    pub(crate) async fn next(&mut self) -> Value {
        match self.message().await {
            Message::Text(text) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("{other:?}"),
        }
    }

    /// The next frame of either kind.
    pub(crate) async fn message(&mut self) -> Message {
        let next = timeout(TEST_TIMEOUT, self.0.next()).await;
        let next = next.expect("a frame arrives");
        next.expect("the socket is open").expect("a whole frame")
    }

    /// The next frame must be the reply to a heartbeat, so nothing else was sent before it.
    pub(crate) async fn expect_nothing(&mut self) {
        self.send(json!([null, "silence", "phoenix", "heartbeat", {}]))
            .await;
        let frame = self.next().await;
        assert_eq!(frame[1], "silence", "{frame}");
    }

    /// Reads until the server ends the socket.
    pub(crate) async fn end(&mut self) -> Closed {
        self.rest().await.1
    }

    /// The same, with all text frames until then.
    pub(crate) async fn rest(&mut self) -> (Vec<Value>, Closed) {
        let mut frames = Vec::new();
        let end = async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Close(frame))) => {
                        return Closed(frame.map(|frame| frame.code.into()));
                    }
                    Some(Ok(Message::Text(text))) => {
                        frames.push(serde_json::from_str(&text).expect("JSON"));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Closed(None),
                }
            }
        };
        let end = timeout(TEST_TIMEOUT, end).await.expect("the socket ends");
        (frames, end)
    }
}
