//! What a client says.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{UserBroadcast, Version, binary, text};

/// A client's name for a join or a push. Opaque: it is echoed as it came, never counted with.
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

    /// From a binary frame; an empty one is none.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let json = || serde_json::to_string(text).unwrap_or_default();
        (!text.is_empty()).then(|| Self(json().into()))
    }

    /// As it stands in a JSON frame.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

/// One frame of a client.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    /// The join that created the channel.
    pub(crate) join_ref: Option<Ref>,
    /// What an answer must carry.
    pub(crate) reference: Option<Ref>,
    pub(crate) topic: Box<str>,
    pub(crate) event: Box<str>,
    pub(crate) payload: Payload,
}

/// What a frame carries.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    /// Any JSON.
    Json(Box<RawValue>),
    /// A broadcast that arrived as a binary frame.
    Broadcast(UserBroadcast),
    /// Bytes for some other event. No client sends such today.
    Bytes,
}

/// A frame that cannot be read. It is dropped; the socket stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("the frame is not JSON of the expected form: {0}")]
    Json(String),
    #[error("the binary frame ends too early")]
    Short,
    #[error("a text in the binary frame is not UTF-8")]
    NotUtf8,
    #[error("binary frames of kind {0} are not known")]
    UnknownKind(u8),
    #[error("the first serialiser has no binary frames")]
    BinaryInVersion1,
}

impl Incoming {
    /// Reads a text frame.
    pub(crate) fn read_text(version: Version, frame: &str) -> Result<Self, Malformed> {
        match version {
            Version::V1 => text::read_object(frame),
            Version::V2 => text::read_array(frame),
        }
    }

    /// Reads a binary frame.
    pub(crate) fn read_binary(version: Version, frame: &Bytes) -> Result<Self, Malformed> {
        match version {
            Version::V1 => Err(Malformed::BinaryInVersion1),
            Version::V2 => binary::read(frame),
        }
    }
}
