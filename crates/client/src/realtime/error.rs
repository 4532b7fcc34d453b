//! What can go wrong with channels (client contract R7).

use crate::auth::AuthError;
use crate::http::TransportError;

/// Something that failed on a channel.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealtimeError {
    /// The server refused a join or a message.
    #[error("{0}")]
    Refused(String),
    /// The server did not answer in time.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The channel is over. Make a new one.
    #[error("the channel is closed")]
    Closed,
    /// The connection was lost. Channels that were subscribed join again by themselves.
    #[error("the connection is lost: {0}")]
    Disconnected(String),
    /// The channel has not joined, or not yet again: nothing can be sent over it.
    /// [`Channel::send_http`](super::Channel::send_http) needs no subscription.
    #[error("the channel is not subscribed")]
    NotSubscribed,
    /// A stream was not read fast enough: this many of its oldest events are gone.
    #[error("{missed} events were dropped because they were not read in time")]
    Lagged {
        /// How many.
        missed: u64,
    },
    /// The server listens to other row changes than it was asked for.
    #[error("mismatch between server and client bindings for postgres changes")]
    BindingMismatch,
    /// A broadcast over HTTP was refused.
    #[error("{message}")]
    Http {
        /// The HTTP status.
        status: u16,
        /// Why.
        message: String,
    },
    /// There was no answer over HTTP.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The session could not be refreshed.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// What came is not of the type that was asked for.
    #[error("what came cannot be read: {0}")]
    Unreadable(String),
    /// It cannot be done as asked.
    #[error("{0}")]
    InvalidInput(&'static str),
}

impl RealtimeError {
    /// Whether the same may succeed in a moment.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut | Self::Disconnected(_) | Self::NotSubscribed | Self::Transport(_) => {
                true
            }
            Self::Auth(error) => error.is_retryable(),
            Self::Http { status, .. } => matches!(status, 408 | 429 | 500..=504 | 520..=530),
            Self::Refused(_)
            | Self::Closed
            | Self::Lagged { .. }
            | Self::BindingMismatch
            | Self::Unreadable(_)
            | Self::InvalidInput(_) => false,
        }
    }

    pub(super) fn unreadable(why: impl ToString) -> Self {
        Self::Unreadable(why.to_string())
    }
}
