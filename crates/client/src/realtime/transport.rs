//! WebSocket transports.

use bytes::Bytes;
use futures_util::{Sink, Stream};
use http::HeaderMap;

use crate::http::TransportError;
use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};

/// Opens connections to the server. The default is a WebSocket over reqwest; see
/// [`RealtimeOptions::transport`](super::RealtimeOptions::transport).
pub trait Connect: MaybeSend + MaybeSync + 'static {
    /// Opens a WebSocket.
    fn connect(&self, request: ConnectRequest)
    -> BoxFuture<'_, Result<Connection, TransportError>>;
}

/// Target of a connection.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConnectRequest {
    /// `ws://…` or `wss://…`, with the project's key in its query.
    pub url: String,
    /// Additional headers of the handshake.
    pub headers: HeaderMap,
}

/// The URL is printed without its query, which contains the API key.
impl std::fmt::Debug for ConnectRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = self.url.split('?').next().unwrap_or_default();
        let mut request = formatter.debug_struct("ConnectRequest");
        request.field("url", &url).finish_non_exhaustive()
    }
}

/// A WebSocket message. The transport handles pings itself.
#[derive(Clone, PartialEq, Eq)]
pub enum SocketMessage {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Bytes),
    /// The close frame.
    Close {
        /// The close code.
        code: u16,
        /// The reason.
        reason: String,
    },
}

/// Sizes only: messages carry access tokens.
impl std::fmt::Debug for SocketMessage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(formatter, "Text({} bytes)", text.len()),
            Self::Binary(bytes) => write!(formatter, "Binary({} bytes)", bytes.len()),
            Self::Close { code, .. } => write!(formatter, "Close({code})"),
        }
    }
}

/// An open WebSocket: a stream of received messages and a sink for sent ones.
pub type Connection = Box<dyn WebSocket>;

/// Requirements of a [`Connection`].
pub trait WebSocket:
    Stream<Item = Result<SocketMessage, TransportError>>
    + Sink<SocketMessage, Error = TransportError>
    + MaybeSend
    + Unpin
{
}

impl<T> WebSocket for T where
    T: Stream<Item = Result<SocketMessage, TransportError>>
        + Sink<SocketMessage, Error = TransportError>
        + MaybeSend
        + Unpin
{
}
