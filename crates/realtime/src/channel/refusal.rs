//! Why a join is refused (§5.2).

use crate::{authorize::AuthorizeError, identity::Refusal};

/// Each is told to the client as the `reason` of its error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinRefusal {
    #[error("unmatched topic")]
    UnmatchedTopic,
    #[error("TopicNameRequired: You must provide a topic name")]
    TopicNameRequired,
    #[error("RealtimeRestarting: Realtime is restarting, please standby")]
    Restarting,
    #[error("RealtimeDisabledForTenant: Realtime disabled for this tenant")]
    Disabled,
    #[error("PrivateOnly: This project only allows private channels")]
    PrivateOnly,
    #[error("ConnectionRateLimitReached: Too many connected users")]
    TooManySockets,
    #[error("ClientJoinRateLimitReached: Too many joins per second")]
    TooManyJoins,
    #[error("ChannelRateLimitReached: Too many channels")]
    TooManyChannels,
    #[error("{}", .0.reason())]
    Token(Refusal),
    #[error("Unauthorized: You do not have permissions to read from this Channel topic: {0}")]
    Unauthorized(Box<str>),
    #[error("QueryCanceled: {0}")]
    QueryCanceled(String),
    #[error("MissingPartition: Realtime was unable to find the expected messages partition")]
    MissingPartition,
    #[error("IncreaseConnectionPool: Please increase your connection pool size")]
    NoConnection,
    #[error(
        "DatabaseLackOfConnections: Database can't accept more connections, Realtime won't connect"
    )]
    DatabaseFull,
    #[error("InitializingProjectConnection: Connecting to the project database")]
    NotReady,
    #[error("UnableToConnectToProject: Realtime was unable to connect to the project database")]
    NoDatabase,
    #[error("UnableToReplayMessages: Replay is not allowed for public channels")]
    ReplayOnPublic,
    #[error("UnableToReplayMessages: Replay params are not valid")]
    BadReplay,
    #[error("UnableToReplayMessages: Realtime was unable to replay messages")]
    ReplayFailed,
}

impl JoinRefusal {
    /// From a check of policies on the given sub-topic.
    pub(crate) fn of_check(error: AuthorizeError, sub_topic: &str) -> Self {
        match error {
            AuthorizeError::Policy(cause) => {
                tracing::warn!(code = "RlsPolicyError", "{cause}");
                Self::Unauthorized(sub_topic.into())
            }
            AuthorizeError::Canceled(cause) => Self::QueryCanceled(cause.to_string()),
            AuthorizeError::MissingPartition => Self::MissingPartition,
            AuthorizeError::NoConnection => Self::NoConnection,
            AuthorizeError::DatabaseFull(cause) => {
                tracing::warn!(code = "DatabaseLackOfConnections", "{cause}");
                Self::DatabaseFull
            }
            AuthorizeError::NotReady(cause) => {
                tracing::warn!(code = "InitializingProjectConnection", "{cause}");
                Self::NotReady
            }
            AuthorizeError::Unavailable(cause) => {
                tracing::warn!(code = "UnableToConnectToProject", "{cause}");
                Self::NoDatabase
            }
        }
    }

    /// The word by which operators know it.
    pub(crate) fn code(&self) -> String {
        let text = match self {
            Self::UnmatchedTopic => "UnmatchedTopic".to_owned(),
            other => other.to_string(),
        };
        let code = text.split(':').next();
        code.unwrap_or_default().to_owned()
    }

    /// Whether the whole socket ends with it.
    pub(crate) fn ends_socket(&self) -> bool {
        matches!(self, Self::TooManyJoins)
    }

    /// Whether it is told at once: it does not come from clients that try again and again.
    pub(crate) fn is_told_at_once(&self) -> bool {
        matches!(
            self,
            Self::UnmatchedTopic | Self::Restarting | Self::TooManyJoins
        )
    }
}
