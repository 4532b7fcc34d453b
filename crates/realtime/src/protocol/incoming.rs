//! Frames from clients.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{UserBroadcast, Version, binary, text};

/// A client's name for a join or a push: opaque, echoed as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ref(Box<str>);

impl Ref {
    /// From a frame in JSON; `null` is no ref.
    pub(super) fn from_json(raw: &RawValue) -> Option<Self> {
        match raw.get() {
            "null" => None,
            text => Some(Self(text.into())),
        }
    }

    /// From a binary frame; an empty one is no ref.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let json = || serde_json::to_string(text).unwrap_or_default();
        (!text.is_empty()).then(|| Self(json().into()))
    }

    /// As JSON.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

/// A parsed frame. Not `Debug`, but in tests: a join carries an access token.
#[derive(Clone)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct IncomingFrame {
    /// The ref of the join that created the channel.
    pub(crate) join_ref: Option<Ref>,
    /// To be echoed in the reply.
    pub(crate) reference: Option<Ref>,
    pub(crate) topic: Box<str>,
    pub(crate) event: Box<str>,
    pub(crate) payload: Payload,
}

/// The payload of a frame.
#[derive(Clone)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum Payload {
    /// Any JSON.
    Json(Box<RawValue>),
    /// A broadcast that arrived as a binary frame.
    Broadcast(UserBroadcast),
    /// Bytes for any other event, which no known client sends; ignored.
    Bytes,
}

/// Why a frame is dropped. The socket stays open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("not JSON of the expected form: {0}")]
    Json(String),
    #[error("truncated binary frame")]
    Truncated,
    #[error("text in a binary frame is not UTF-8")]
    NotUtf8,
    #[error("unknown kind of binary frame: {0}")]
    UnknownKind(u8),
    #[error("binary frame on a socket of version 1")]
    BinaryInVersion1,
}

impl IncomingFrame {
    pub(crate) fn parse_text(version: Version, frame: &str) -> Result<Self, FrameError> {
        match version {
            Version::V1 => text::parse_object(frame),
            Version::V2 => text::parse_array(frame),
        }
    }

    pub(crate) fn parse_binary(version: Version, frame: &Bytes) -> Result<Self, FrameError> {
        match version {
            Version::V1 => Err(FrameError::BinaryInVersion1),
            Version::V2 => binary::parse(frame),
        }
    }
}
