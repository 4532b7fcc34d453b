//! What is heard on a channel, as streams. Each has a bounded queue of its own: one that is not
//! read loses its oldest events, and says so.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use serde::de::DeserializeOwned;

use super::event::{Broadcast, ChannelEvent, Heartbeat, Status, System};
use super::queue::Reader;
use super::{Change, Channel, PresenceEvent, Realtime, RealtimeError};

/// Everything that happens on a channel; see [`Channel::subscribe`]. It ends when the channel is
/// closed.
///
/// A stream that is not read fast enough loses its oldest events and says
/// [`RealtimeError::Lagged`]; it goes on with the next.
pub struct Subscription {
    channel: Channel,
    events: Reader<ChannelEvent>,
}

impl Subscription {
    pub(super) fn new(channel: Channel, events: Reader<ChannelEvent>) -> Self {
        Self { channel, events }
    }

    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }
}

impl Stream for Subscription {
    type Item = Result<ChannelEvent, RealtimeError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll(context)
    }
}

/// Makes a stream of one kind of events.
macro_rules! stream_of {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $item:ty) => {
        $(#[$doc])*
        #[must_use = "a stream does nothing unless it is polled"]
        pub struct $name {
            channel: Channel,
            events: Reader<ChannelEvent>,
        }

        impl $name {
            pub(super) fn new(channel: Channel, events: Reader<ChannelEvent>) -> Self {
                Self { channel, events }
            }
        }

        impl Stream for $name {
            type Item = Result<$item, RealtimeError>;

            fn poll_next(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                loop {
                    return Poll::Ready(match ready!(self.events.poll(context)) {
                        None => None,
                        Some(Err(error)) => Some(Err(error)),
                        Some(Ok(ChannelEvent::$variant(item))) => Some(Ok(item)),
                        Some(Ok(_)) => continue,
                    });
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut stream = formatter.debug_struct(stringify!($name));
                stream.field("channel", &self.channel).finish_non_exhaustive()
            }
        }
    };
}

stream_of! {
    /// What is said on a channel; see [`Channel::on_broadcast`].
    Broadcasts, Broadcast, Broadcast
}
stream_of! {
    /// Who comes and leaves; see [`Channel::on_presence`].
    PresenceEvents, Presence, PresenceEvent
}
stream_of! {
    /// What the server says about a channel; see [`Channel::on_system`].
    SystemMessages, System, System
}
stream_of! {
    /// How a channel is; see [`Channel::statuses`].
    Statuses, Status, Status
}

/// Rows that change; see [`Channel::on_postgres`]. If the server cannot tell of them, the stream
/// says so with [`RealtimeError::Refused`], and goes on: some reasons pass.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Changes<T> {
    channel: Channel,
    events: Reader<ChannelEvent>,
    row: PhantomData<fn() -> T>,
}

impl<T> Changes<T> {
    pub(super) fn new(channel: Channel, events: Reader<ChannelEvent>) -> Self {
        Self {
            channel,
            events,
            row: PhantomData,
        }
    }
}

impl<T: DeserializeOwned> Stream for Changes<T> {
    type Item = Result<Change<T>, RealtimeError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return Poll::Ready(match ready!(self.events.poll(context)) {
                None => None,
                Some(Err(error)) => Some(Err(error)),
                Some(Ok(ChannelEvent::Change(change))) => Some(change.typed()),
                Some(Ok(ChannelEvent::System(system))) => {
                    Some(Err(RealtimeError::Refused(system.message)))
                }
                Some(Ok(_)) => continue,
            });
        }
    }
}

impl<T> fmt::Debug for Changes<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stream = formatter.debug_struct("Changes");
        stream
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stream = formatter.debug_struct("Subscription");
        stream
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

/// How the connection is; see [`Realtime::heartbeats`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct Heartbeats {
    /// Keeps the connection's task.
    _realtime: Realtime,
    events: Reader<Heartbeat>,
}

impl Heartbeats {
    pub(super) fn new(realtime: Realtime, events: Reader<Heartbeat>) -> Self {
        Self {
            _realtime: realtime,
            events,
        }
    }
}

impl Stream for Heartbeats {
    type Item = Result<Heartbeat, RealtimeError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll(context)
    }
}

impl fmt::Debug for Heartbeats {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Heartbeats").finish_non_exhaustive()
    }
}
