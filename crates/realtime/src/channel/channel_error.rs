//! Why the server closes a channel (§8).

use crate::identity::CredentialError;

/// The text is the `message` of the `system` frame before `phx_close`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("Too many messages per second")]
    MessageRate,
    #[error("Too many presence messages per second")]
    PresenceRate,
    #[error("Client presence rate limit exceeded")]
    ClientPresenceRate,
    #[error("Track message size exceeded")]
    TrackTooLarge,
    #[error("Replication connection was not established in time")]
    ReplicationTimeout,
    #[error("{}", .0.message())]
    Credential(CredentialError),
    /// A new token may not read the topic; its name without the prefix.
    #[error("You do not have permissions to read from this Channel topic: {0}")]
    NoPermission(Box<str>),
    /// A new token may read less than the last one.
    #[error("You no longer have permission to read from this Channel topic: {0}")]
    LostPermission(Box<str>),
    #[error("Query was cancelled, please try again")]
    QueryCanceled,
    #[error("Realtime was unable to connect to the project database")]
    DatabaseUnavailable,
}

impl ChannelError {
    /// The code in logs and metrics, for a limit.
    pub(crate) fn limit_code(&self) -> Option<&'static str> {
        match self {
            Self::MessageRate => Some("MessagePerSecondRateLimitReached"),
            Self::PresenceRate => Some("PresenceRateLimitReached"),
            Self::ClientPresenceRate => Some("ClientPresenceRateLimitReached"),
            Self::TrackTooLarge
            | Self::ReplicationTimeout
            | Self::Credential(_)
            | Self::NoPermission(_)
            | Self::LostPermission(_)
            | Self::QueryCanceled
            | Self::DatabaseUnavailable => None,
        }
    }
}
