//! Why a join is rejected (§5.2).

use crate::{authorize::AuthorizeError, identity::CredentialError};

/// The text is the `reason` of the error reply; what stands before its colon is the code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
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
    #[error("{}", .0.join_reason())]
    Credential(CredentialError),
    #[error("Unauthorized: You do not have permissions to read from this Channel topic: {0}")]
    Unauthorized(Box<str>),
    #[error("QueryCanceled: {0}")]
    QueryCanceled(String),
    #[error("MissingPartition: Realtime was unable to find the expected messages partition")]
    MissingPartition,
    #[error("IncreaseConnectionPool: Please increase your connection pool size")]
    PoolTimeout,
    #[error(
        "DatabaseLackOfConnections: Database can't accept more connections, Realtime won't connect"
    )]
    DatabaseFull,
    #[error("InitializingProjectConnection: Connecting to the project database")]
    DatabaseNotReady,
    #[error("UnableToConnectToProject: Realtime was unable to connect to the project database")]
    DatabaseUnavailable,
    #[error("UnableToReplayMessages: Replay is not allowed for public channels")]
    ReplayOnPublic,
    #[error("UnableToReplayMessages: Replay params are not valid")]
    InvalidReplay,
    #[error("UnableToReplayMessages: Realtime was unable to replay messages")]
    ReplayFailed,
}

impl JoinError {
    /// From a permission check on the given sub-topic.
    pub(crate) fn from_check(error: AuthorizeError, sub_topic: &str) -> Self {
        match error {
            AuthorizeError::Policy(cause) => {
                tracing::warn!(
                    code = "RlsPolicyError",
                    "rejecting a join: a policy on realtime.messages failed: {cause}"
                );
                Self::Unauthorized(sub_topic.into())
            }
            AuthorizeError::Canceled(cause) => Self::QueryCanceled(cause.to_string()),
            AuthorizeError::MissingPartition => Self::MissingPartition,
            AuthorizeError::PoolTimeout => Self::PoolTimeout,
            AuthorizeError::DatabaseFull(cause) => {
                tracing::warn!(
                    code = "DatabaseLackOfConnections",
                    "rejecting a join: the database accepts no more connections: {cause}"
                );
                Self::DatabaseFull
            }
            AuthorizeError::DatabaseNotReady(cause) => {
                tracing::warn!(
                    code = "InitializingProjectConnection",
                    "rejecting a join: the database is not ready: {cause}"
                );
                Self::DatabaseNotReady
            }
            AuthorizeError::OutOfResources(cause) => {
                tracing::warn!(
                    code = "UnableToConnectToProject",
                    "rejecting a join: the database has no space left: {cause}"
                );
                Self::DatabaseUnavailable
            }
            AuthorizeError::DatabaseUnavailable(cause) => {
                tracing::warn!(
                    code = "UnableToConnectToProject",
                    "rejecting a join: no connection to the database: {cause}"
                );
                Self::DatabaseUnavailable
            }
        }
    }

    /// The code in logs and metrics: what stands before the colon of the text.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::UnmatchedTopic => "UnmatchedTopic",
            Self::TopicNameRequired => "TopicNameRequired",
            Self::Restarting => "RealtimeRestarting",
            Self::Disabled => "RealtimeDisabledForTenant",
            Self::PrivateOnly => "PrivateOnly",
            Self::TooManySockets => "ConnectionRateLimitReached",
            Self::TooManyJoins => "ClientJoinRateLimitReached",
            Self::TooManyChannels => "ChannelRateLimitReached",
            Self::Credential(error) => error.code(),
            Self::Unauthorized(_) => "Unauthorized",
            Self::QueryCanceled(_) => "QueryCanceled",
            Self::MissingPartition => "MissingPartition",
            Self::PoolTimeout => "IncreaseConnectionPool",
            Self::DatabaseFull => "DatabaseLackOfConnections",
            Self::DatabaseNotReady => "InitializingProjectConnection",
            Self::DatabaseUnavailable => "UnableToConnectToProject",
            Self::ReplayOnPublic | Self::InvalidReplay | Self::ReplayFailed => {
                "UnableToReplayMessages"
            }
        }
    }

    /// Whether the whole socket is closed.
    pub(crate) fn closes_socket(&self) -> bool {
        matches!(self, Self::TooManyJoins)
    }

    /// Whether the reply is sent at once. Others are delayed, because clients retry without
    /// waiting.
    pub(crate) fn is_immediate(&self) -> bool {
        matches!(
            self,
            Self::UnmatchedTopic | Self::Restarting | Self::TooManyJoins
        )
    }
}
