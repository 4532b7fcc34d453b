//! Connections: what they carry, and who opens them.

use bytes::Bytes;
use futures_util::{Sink, Stream};
use http::HeaderMap;

use crate::http::TransportError;
use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};

/// Opens connections to the server. The usual way is a WebSocket over reqwest; see
/// [`RealtimeOptions::transport`](super::RealtimeOptions::transport).
pub trait Connect: MaybeSend + MaybeSync + 'static {
    /// Opens a WebSocket.
    fn connect(&self, request: ConnectRequest)
    -> BoxFuture<'_, Result<Connection, TransportError>>;
}

/// Where a connection leads.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConnectRequest {
    /// `ws://…` or `wss://…`, with the project's key in its query.
    pub url: String,
    /// What the handshake carries, beside what makes it one.
    pub headers: HeaderMap,
}

/// The address without its query, which has the key in it.
impl std::fmt::Debug for ConnectRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = self.url.split('?').next().unwrap_or_default();
        let mut request = formatter.debug_struct("ConnectRequest");
        request.field("url", &url).finish_non_exhaustive()
    }
}

/// A message as a WebSocket carries it. Pings are the transport's own matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketMessage {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Bytes),
    /// The end, and why.
    Close {
        /// In a number.
        code: u16,
        /// In words.
        reason: String,
    },
}

/// An open WebSocket: a stream of what the server says, and a sink for what it is told.
pub type Connection = Box<dyn WebSocket>;

/// What a [`Connection`] has to be.
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
