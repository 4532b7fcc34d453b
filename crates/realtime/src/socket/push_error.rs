//! Error replies to frames on a channel that stays open (§6.1, §7.1).

/// Why a push is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushError {
    PayloadTooLarge,
    TrackNotAnObject,
    /// The broker is away: only members on this node receive the broadcast.
    NodesUnreachable,
}

impl PushError {
    /// The `response` of the reply.
    pub(crate) fn response(self) -> &'static str {
        match self {
            Self::PayloadTooLarge => r#"{"error":"payload_size_exceeded"}"#,
            Self::TrackNotAnObject => r#"{"reason":"Presence track payload must be a map"}"#,
            Self::NodesUnreachable => {
                r#"{"reason":"Realtime was unable to reach its other nodes"}"#
            }
        }
    }
}
