//! What happens on a channel.

use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Change, PresenceEvent, RealtimeError};

/// Something that happened on a channel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChannelEvent {
    /// The channel itself changed.
    Status(Status),
    /// Somebody said something.
    Broadcast(Broadcast),
    /// Somebody came or left.
    Presence(PresenceEvent),
    /// A row changed.
    Change(Change),
    /// The server says something about the channel.
    System(System),
}

/// How a channel is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Status {
    /// It has joined, for the first time or again.
    Subscribed,
    /// It has lost its connection or was refused, and tries again by itself.
    Error(RealtimeError),
    /// A join was not answered in time. It tries again by itself.
    TimedOut,
    /// It is over, because you or the server ended it. Its streams end here.
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

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broadcast {
    /// What it is about.
    pub event: String,
    /// What was said.
    pub payload: Payload,
    /// What the server knows about it.
    pub meta: Option<BroadcastMeta>,
}

/// What the server knows about a broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct BroadcastMeta {
    /// The row in `realtime.messages`, where it came from the database.
    #[serde(default)]
    pub id: Option<String>,
    /// Whether it was said before this channel joined.
    #[serde(default)]
    pub replayed: bool,
}

/// What a broadcast carries. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// JSON, not read yet.
    Json(Bytes),
    /// Bytes.
    Bytes(Bytes),
}

impl Broadcast {
    /// What was said, read as this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, RealtimeError> {
        self.payload.json()
    }

    /// What was said, where that is bytes.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.payload {
            Payload::Bytes(bytes) => Some(bytes),
            Payload::Json(_) => None,
        }
    }

    /// Whether it was said before this channel joined.
    pub fn is_replayed(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.replayed)
    }
}

impl Payload {
    /// Read as this type, where it is JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, RealtimeError> {
        match self {
            Self::Json(json) => serde_json::from_slice(json).map_err(RealtimeError::unreadable),
            Self::Bytes(_) => Err(RealtimeError::unreadable("it is bytes, not JSON")),
        }
    }
}

/// What the server says about a channel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct System {
    /// What it is about: `postgres_changes` or `system`.
    #[serde(default)]
    pub extension: String,
    /// `ok` or `error`.
    #[serde(default)]
    pub status: String,
    /// What it says.
    #[serde(default)]
    pub message: String,
    /// The channel's name.
    #[serde(default)]
    pub channel: Option<String>,
}

impl System {
    /// Whether it is good news, such as that row changes will arrive from now on.
    pub fn is_ok(&self) -> bool {
        self.status == "ok"
    }
}

/// How the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heartbeat {
    /// A heartbeat was sent.
    Sent,
    /// It was answered.
    Ok {
        /// After so many milliseconds.
        latency_ms: u64,
    },
    /// It was answered with a failure.
    Error,
    /// It was not answered; the connection is made anew.
    TimedOut,
    /// There is no connection any more.
    Disconnected,
}
