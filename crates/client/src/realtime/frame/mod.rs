//! Encoding and decoding of messages (realtime contract §3), independent of a connection.

mod binary;
mod text;

use bytes::Bytes;
use serde_json::{Value, json};

use super::event::{Broadcast, Payload};
use super::{SocketMessage, Vsn};

/// Maximum length of a name in a binary frame.
pub(super) const MAX_NAME_BYTES: usize = 255;
const BROADCAST: &str = "broadcast";

/// A message to the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outgoing {
    pub(super) join_ref: Option<String>,
    pub(super) reference: String,
    pub(super) topic: String,
    pub(super) event: &'static str,
    pub(super) payload: Body,
}

/// Payload of a message to the server.
#[derive(Clone, PartialEq)]
pub(super) enum Body {
    Json(Value),
    /// A broadcast, which has a binary format.
    Broadcast {
        event: String,
        payload: Payload,
    },
}

/// The kind only: payloads carry access tokens.
impl std::fmt::Debug for Body {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json(_) => formatter.write_str("Json(***)"),
            Self::Broadcast { event, .. } => write!(formatter, "Broadcast({event:?})"),
        }
    }
}

/// A message from the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Incoming {
    pub(super) join_ref: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) topic: String,
    pub(super) content: Content,
    /// How many bytes it was on the wire.
    pub(super) bytes: usize,
}

/// Content of a message from the server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Broadcast(Broadcast),
    /// Any other event, with its JSON unparsed.
    Event {
        name: String,
        payload: Bytes,
    },
}

impl Outgoing {
    /// `None` for bytes that this version cannot encode.
    pub(super) fn encode(&self, vsn: Vsn) -> Option<SocketMessage> {
        match (&self.payload, vsn) {
            (Body::Json(payload), vsn) => Some(text::encode(self, payload, vsn)),
            (Body::Broadcast { event, payload }, Vsn::V2) => {
                let binary = binary::encode(self, event, payload);
                binary.or_else(|| self.broadcast_in_text(event, payload, vsn))
            }
            (Body::Broadcast { event, payload }, Vsn::V1) => {
                self.broadcast_in_text(event, payload, vsn)
            }
        }
    }

    fn broadcast_in_text(&self, event: &str, payload: &Payload, vsn: Vsn) -> Option<SocketMessage> {
        let Payload::Json(payload) = payload else {
            return None;
        };
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let payload = json!({ "type": BROADCAST, "event": event, "payload": payload });
        Some(text::encode(self, &payload, vsn))
    }
}

impl Incoming {
    /// `None` for malformed messages, which are skipped.
    pub(super) fn decode(message: &SocketMessage, vsn: Vsn) -> Option<Self> {
        match (message, vsn) {
            (SocketMessage::Text(text), vsn) => text::decode(text, vsn),
            (SocketMessage::Binary(bytes), Vsn::V2) => binary::decode(bytes),
            (SocketMessage::Binary(_), Vsn::V1) | (SocketMessage::Close { .. }, _) => None,
        }
    }
}
