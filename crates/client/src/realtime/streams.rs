//! Streams of channel events. Each has a bounded queue: a slow reader loses the oldest events and
//! gets an error.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use serde::de::DeserializeOwned;

use super::event::{Broadcast, ChannelEvent, Heartbeat, Status, System};
use super::queue::Reader;
use super::{Change, Channel, PresenceEvent, Realtime, RealtimeError};

/// All events of a channel; see [`Channel::subscribe`]. It ends when the channel is closed.
///
/// A slow reader loses the oldest events: the stream returns [`RealtimeError::Lagged`] and continues.
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

/// Defines a stream of one kind of events.
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
    /// Broadcasts of a channel; see [`Channel::on_broadcast`].
    Broadcasts, Broadcast, Broadcast
}
stream_of! {
    /// Presence events of a channel; see [`Channel::on_presence`].
    PresenceEvents, Presence, PresenceEvent
}
stream_of! {
    /// System messages about a channel; see [`Channel::on_system`].
    SystemMessages, System, System
}
stream_of! {
    /// Status changes of a channel; see [`Channel::statuses`].
    Statuses, Status, Status
}

/// Row changes; see [`Channel::on_postgres`]. If the server cannot deliver them, the stream returns
/// [`RealtimeError::Rejected`] and continues, since some causes are temporary.
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
                    Some(Err(RealtimeError::Rejected(system.message)))
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

/// Heartbeat events; see [`Realtime::heartbeats`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct Heartbeats {
    /// Keeps the driver task alive.
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
