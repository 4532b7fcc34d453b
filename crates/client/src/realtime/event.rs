//! Events of a channel.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Change, PresenceEvent, RealtimeError};

/// An event of a channel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChannelEvent {
    /// The channel's status changed.
    Status(Status),
    /// A broadcast was received.
    Broadcast(Broadcast),
    /// The presence changed.
    Presence(PresenceEvent),
    /// A row changed.
    Change(Change),
    /// The server sent a system message.
    System(System),
}

/// Status of a channel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Status {
    /// Joined, for the first time or again.
    Subscribed,
    /// The connection was lost or the join rejected; it retries by itself.
    Error(RealtimeError),
    /// A join timed out; it retries by itself.
    TimedOut,
    /// Closed by you or the server. Its streams end here.
    Closed,
}

impl Status {
    /// The name that JavaScript clients give it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Subscribed => "SUBSCRIBED",
            Self::Error(_) => "CHANNEL_ERROR",
            Self::TimedOut => "TIMED_OUT",
            Self::Closed => "CLOSED",
        }
    }
}

/// A broadcast message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broadcast {
    /// The event name.
    pub event: String,
    /// The payload.
    pub payload: Payload,
    /// Metadata of the server.
    pub meta: Option<BroadcastMeta>,
}

/// The server's metadata of a broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct BroadcastMeta {
    /// The row in `realtime.messages`, if it was sent by the database.
    #[serde(default)]
    pub id: Option<String>,
    /// Whether it was sent before this channel joined.
    #[serde(default)]
    pub replayed: bool,
}

/// Payload of a broadcast. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// JSON, not parsed yet.
    Json(Bytes),
    /// Bytes.
    Bytes(Bytes),
}

impl Broadcast {
    /// The payload, deserialized as this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, RealtimeError> {
        self.payload.json()
    }

    /// The payload, if it is bytes.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.payload {
            Payload::Bytes(bytes) => Some(bytes),
            Payload::Json(_) => None,
        }
    }

    /// Whether it was sent before this channel joined.
    pub fn is_replayed(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.replayed)
    }
}

impl Payload {
    /// Deserializes a JSON payload.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, RealtimeError> {
        match self {
            Self::Json(json) => serde_json::from_slice(json).map_err(RealtimeError::unreadable),
            Self::Bytes(_) => Err(RealtimeError::unreadable("it is bytes, not JSON")),
        }
    }
}

/// A system message about a channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct System {
    /// The extension: `postgres_changes` or `system`.
    #[serde(default)]
    pub extension: String,
    /// `ok` or `error`.
    #[serde(default)]
    pub status: String,
    /// The message text.
    #[serde(default)]
    pub message: String,
    /// The channel's name.
    #[serde(default)]
    pub channel: Option<String>,
}

impl System {
    /// Whether it reports success, such as that row changes are delivered from now on.
    pub fn is_ok(&self) -> bool {
        self.status == "ok"
    }
}

/// A heartbeat event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heartbeat {
    /// A heartbeat was sent.
    Sent,
    /// The server replied.
    Ok {
        /// Round-trip time in milliseconds.
        latency_ms: u64,
    },
    /// The server replied with an error.
    Error,
    /// No reply; the client reconnects.
    TimedOut,
    /// The connection was lost.
    Disconnected,
}
