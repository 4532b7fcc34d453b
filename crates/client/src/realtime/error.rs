//! Errors of channels (client contract R7).

use crate::auth::AuthError;
use crate::http::TransportError;

/// A failed operation on a channel.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealtimeError {
    /// The server rejected a join or a message.
    #[error("{0}")]
    Rejected(String),
    /// The server did not reply in time.
    #[error("the server did not respond in time")]
    TimedOut,
    /// The channel is closed. Create a new one.
    #[error("the channel is closed")]
    Closed,
    /// The connection was lost. Channels that were subscribed join again by themselves.
    #[error("the connection is lost: {0}")]
    Disconnected(String),
    /// The channel has not joined, or not rejoined yet: nothing can be sent over it.
    /// [`Channel::send_http`](super::Channel::send_http) needs no subscription.
    #[error("the channel is not subscribed")]
    NotSubscribed,
    /// A stream was not read fast enough: this many of its oldest events are gone.
    #[error("{missed} events were dropped because they were not read in time")]
    Lagged {
        /// How many.
        missed: u64,
    },
    /// The server confirmed other row changes than requested.
    #[error("mismatch between server and client bindings for postgres changes")]
    BindingMismatch,
    /// A broadcast over HTTP was rejected.
    #[error("{message}")]
    Http {
        /// The HTTP status.
        status: u16,
        /// The error message.
        message: String,
    },
    /// The HTTP request failed without a response.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The session could not be refreshed.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// A payload is not of the requested type.
    #[error("the payload cannot be decoded: {0}")]
    Unreadable(String),
    /// The operation is invalid.
    #[error("{0}")]
    InvalidInput(&'static str),
}

impl RealtimeError {
    /// Whether a retry may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TimedOut | Self::Disconnected(_) | Self::NotSubscribed | Self::Transport(_) => {
                true
            }
            Self::Auth(error) => error.is_retryable(),
            Self::Http { status, .. } => matches!(status, 408 | 429 | 500..=504 | 520..=530),
            Self::Rejected(_)
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
