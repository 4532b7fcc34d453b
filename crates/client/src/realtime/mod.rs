//! Realtime channels: broadcast, presence and row changes (client contract §3.5).
//!
//! ```
//! # use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
//! # use serde_json::Value;
//! # async fn serve(mut socket: WebSocket) {
//! #     while let Some(Ok(message)) = socket.recv().await {
//! #         let frame = match message {
//! #             Message::Text(text) => {
//! #                 let asked: Value = serde_json::from_str(&text).unwrap();
//! #                 let reply = serde_json::json!({ "status": "ok", "response": {} });
//! #                 let (join_ref, reference, topic) = (&asked[0], &asked[1], &asked[2]);
//! #                 let frame = serde_json::json!([join_ref, reference, topic, "phx_reply", reply]);
//! #                 Message::text(frame.to_string())
//! #             }
//! #             Message::Binary(push) => {
//! #                 let references = usize::from(push[1]) + usize::from(push[2]);
//! #                 let head = [4, push[3], push[4], push[5], push[6]];
//! #                 Message::binary([&head, &push[7 + references..]].concat())
//! #             }
//! #             _ => return,
//! #         };
//! #         socket.send(frame).await.unwrap();
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! # let url = format!("http://{}", listener.local_addr()?);
//! # let upgrade = |upgrade: WebSocketUpgrade| async { upgrade.on_upgrade(serve) };
//! # let router = axum::Router::new().fallback(upgrade);
//! # tokio::spawn(async { axum::serve(listener, router).await });
//! use futures_util::TryStreamExt;
//! use plinth_client::Client;
//! use serde_json::json;
//!
//! # let client = Client::new(&url, "sb_publishable_key")?;
//! let room = client.channel("room1").broadcast_self(true).build()?;
//! let mut cursors = room.on_broadcast("cursor");
//! room.subscribe().await?;
//!
//! room.send("cursor", &json!({ "x": 1, "y": 2 })).await?;
//! let cursor = cursors.try_next().await?.expect("the channel is open");
//! assert_eq!(cursor.json::<serde_json::Value>()?, json!({ "x": 1, "y": 2 }));
//! # Ok(())
//! # }
//! ```
//!
//! All channels of a client share one connection. It is opened when the first channel is subscribed, checked
//! by a heartbeat every 25 s, reopened when it is lost, and closed 50 s after the last channel was left. It
//! carries the access token of the signed-in user, also when that changes.
//!
//! The connection is a WebSocket that reqwest opens; a custom client
//! ([`ClientBuilder::http`](crate::ClientBuilder::http)) or tower service is used for HTTP requests
//! only, and [`RealtimeOptions::transport`] replaces the WebSocket.
//!
//! `protocol` is a state machine without I/O; `driver` executes its actions; `frame` encodes messages.
//! Streams are bounded: each buffers 1024 events, or 4 MiB of them, for a slow reader; beyond that the
//! oldest are dropped, and the stream returns [`RealtimeError::Lagged`].

mod backoff;
mod builder;
mod changes;
mod channel;
mod dial;
mod driver;
mod error;
mod event;
mod frame;
mod http_broadcast;
mod options;
mod presence;
mod protocol;
mod queue;
mod shared;
mod streams;
mod transport;

use std::fmt;
use std::sync::{Arc, PoisonError};

use crate::auth::Auth;
use crate::client::{Base, Client, TokenSource};
use channel::ChannelInner;
use protocol::{ChannelConfig, ChannelId, Protocol};
use shared::Shared;

pub use backoff::RECONNECT_BACKOFF_MS;
pub use builder::{ChannelBuilder, Replay};
pub use changes::{Change, ChangeKind, ChangesRequest, Event, Row, pg};
pub use channel::Channel;
pub use error::RealtimeError;
pub use event::{Broadcast, BroadcastMeta, ChannelEvent, Heartbeat, Payload, Status, System};
pub use http_broadcast::HttpBroadcast;
pub use options::{HEARTBEAT_MS, RealtimeOptions, Vsn};
pub use presence::{Presence, PresenceEvent, PresenceState};
pub use streams::{
    Broadcasts, Changes, Heartbeats, PresenceEvents, Statuses, Subscription, SystemMessages,
};
pub use transport::{Connect, ConnectRequest, Connection, SocketMessage, WebSocket};

/// K14: timeout of joins and messages.
pub const TIMEOUT_MS: u64 = 10_000;
/// How many events a stream buffers for its reader.
pub const MAX_QUEUED_EVENTS: usize = 1024;
/// How many bytes of events a stream buffers for its reader.
pub const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;
/// Prefix of a channel's name on the wire.
const TOPIC_PREFIX: &str = "realtime:";

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionState {
    /// Closed, and not needed.
    Closed,
    /// Connecting, or waiting to reconnect.
    Connecting,
    /// Open.
    Open,
}

/// The channels of a client, and their connection; see [`Client::realtime`]. Cheap to clone.
#[derive(Clone)]
pub struct Realtime(Arc<Shared>);

impl<A> Client<A> {
    /// Channels, and their connection.
    pub fn realtime(&self) -> &Realtime {
        &self.realtime
    }

    /// A channel; the same as [`Realtime::channel`].
    pub fn channel(&self, name: &str) -> ChannelBuilder {
        self.realtime.channel(name)
    }

    /// All channels that are in use.
    pub fn channels(&self) -> Vec<Channel> {
        self.realtime.channels()
    }

    /// Leaves a channel.
    pub fn remove_channel(&self, channel: &Channel) {
        self.realtime.remove(channel);
    }

    /// Leaves all channels and ends the connection.
    pub fn remove_all_channels(&self) {
        self.realtime.remove_all();
    }
}

impl Realtime {
    pub(crate) fn new(
        base: Arc<Base>,
        tokens: Arc<dyn TokenSource>,
        auth: Option<Auth>,
        options: RealtimeOptions,
    ) -> Self {
        Self(Arc::new(Shared::new(base, tokens, auth, options)))
    }

    /// Starts to configure a channel.
    pub fn channel(&self, name: &str) -> ChannelBuilder {
        ChannelBuilder::new(self.clone(), name)
    }

    /// All channels that are in use.
    pub fn channels(&self) -> Vec<Channel> {
        let handles = self.0.handles.lock();
        let handles = handles.unwrap_or_else(PoisonError::into_inner);
        let channels = handles.values().filter_map(std::sync::Weak::upgrade);
        channels.map(Channel).collect()
    }

    /// Leaves a channel; the same as [`Channel::unsubscribe`].
    pub fn remove(&self, channel: &Channel) {
        channel.unsubscribe();
    }

    /// Leaves all channels and ends the connection.
    pub fn remove_all(&self) {
        for channel in self.channels() {
            channel.unsubscribe();
        }
        self.disconnect();
    }

    /// Opens the connection; otherwise the first channel does.
    pub fn connect(&self) {
        self.0.update_state(|protocol, _| protocol.connect());
    }

    /// Closes the connection. Channels rejoin after the next [`Realtime::connect`], or when another
    /// one is subscribed.
    pub fn disconnect(&self) {
        self.0
            .update_state(|protocol, now| protocol.disconnect(now));
    }

    /// State of the connection.
    pub fn state(&self) -> ConnectionState {
        self.0.read_state(|protocol| protocol.state())
    }

    /// Uses this token instead of the session's from now on; `None` restores the session's.
    pub fn set_auth(&self, token: Option<String>) {
        self.0
            .update_state(|protocol, now| protocol.set_token(now, token));
    }

    /// Heartbeat events, from now on.
    pub fn heartbeats(&self) -> Heartbeats {
        let (queue, reader) = queue::queue(self.0.environment.options.limits);
        self.0
            .read_state(|protocol| protocol.subscribe_to_heartbeats(queue));
        Heartbeats::new(self.clone(), reader)
    }

    fn open_channel(&self, name: &str, config: ChannelConfig) -> Result<Channel, RealtimeError> {
        let handles = self.0.handles.lock();
        let mut handles = handles.unwrap_or_else(PoisonError::into_inner);
        let known = handles.values().filter_map(std::sync::Weak::upgrade);
        let known: Vec<Arc<ChannelInner>> = known.collect();
        let opened = match known.iter().find(|known| known.name == name) {
            Some(known) if known.config == config => Ok(Channel(known.clone())),
            Some(_) => Err(RealtimeError::InvalidInput(
                "this client has a channel of that name with other options",
            )),
            None => {
                let channel = Arc::new(self.new_channel(name, config));
                handles.insert(channel.id, Arc::downgrade(&channel));
                Ok(Channel(channel))
            }
        };
        // One of them may be the last handle of its channel, and its drop takes the lock.
        drop(handles);
        drop(known);
        opened
    }

    fn new_channel(&self, name: &str, config: ChannelConfig) -> ChannelInner {
        let topic = format!("{TOPIC_PREFIX}{name}");
        let add = |protocol: &mut Protocol| protocol.add_channel(topic, config.clone());
        ChannelInner {
            id: self.0.read_state(add),
            shared: self.0.clone(),
            name: name.to_owned(),
            config,
        }
    }
}

impl Shared {
    /// Frees the name for reuse.
    fn remove_handle(&self, id: ChannelId) {
        let handles = self.handles.lock();
        handles.unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

impl fmt::Debug for Realtime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Realtime")
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
