//! A channel: what its users do with it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::changes::{ChangesRequest, Event, Wanted};
use super::conversation::{ChannelConfig, Listener, Room, RoomId, Wants};
use super::event::{ChannelEvent, Payload};
use super::frame::{Body, MAX_NAME_BYTES};
use super::http_broadcast::HttpBroadcast;
use super::presence::PresenceState;
use super::queue::{Reader, queue};
use super::shared::Shared;
use super::streams::{Broadcasts, Changes, PresenceEvents, Statuses, Subscription, SystemMessages};
use super::{RealtimeError, Vsn};

/// A channel of a project. Cheap to clone; clones, and the streams made of it, are the same
/// channel, and it is left when the last of them is gone.
#[derive(Clone)]
pub struct Channel(pub(super) Arc<ChannelInner>);

pub(super) struct ChannelInner {
    pub(super) shared: Arc<Shared>,
    pub(super) id: RoomId,
    pub(super) name: String,
    pub(super) config: ChannelConfig,
}

impl Drop for ChannelInner {
    fn drop(&mut self) {
        self.shared.forget_handle(self.id);
        self.shared
            .act(|conversation, now| conversation.leave(now, self.id));
    }
}

impl Channel {
    /// What the channel is called.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it is a private one.
    pub fn is_private(&self) -> bool {
        self.0.config.is_private
    }

    /// Whether it has joined.
    pub fn is_subscribed(&self) -> bool {
        self.0.shared.look(|conversation| {
            conversation
                .room(self.0.id)
                .is_some_and(|room| room.is_joined())
        })
    }

    /// Joins, and gives everything that happens on the channel from then on. Whoever only wants
    /// some of it makes streams before ([`Channel::on_broadcast`] and others) and drops this one.
    ///
    /// A failure is that of the first attempt. The channel goes on trying, after 1, 2, 5 and then
    /// always 10 s, until it is [unsubscribed](Channel::unsubscribe) or dropped; its
    /// [statuses](Channel::statuses) tell.
    pub async fn subscribe(&self) -> Result<Subscription, RealtimeError> {
        let events = self.listen(Wants::Everything)?;
        let (waiter, outcome) = oneshot::channel();
        let id = self.0.id;
        self.0
            .shared
            .act(|conversation, now| conversation.subscribe(now, id, waiter));
        outcome.await.unwrap_or(Err(RealtimeError::Closed))?;
        Ok(Subscription::new(self.clone(), events))
    }

    /// Leaves. Its streams end, and it cannot be subscribed again: make a new one of its name.
    pub fn unsubscribe(&self) {
        self.0.shared.forget_handle(self.0.id);
        self.0
            .shared
            .act(|conversation, now| conversation.leave(now, self.0.id));
    }

    /// How the channel is, from now on.
    pub fn statuses(&self) -> Statuses {
        Statuses::new(self.clone(), self.listen_or_end(Wants::Statuses))
    }

    /// What is said under this name, in any case of letters; under any name if it is `*`.
    pub fn on_broadcast(&self, event: impl Into<String>) -> Broadcasts {
        let wants = Wants::Broadcasts(event.into());
        Broadcasts::new(self.clone(), self.listen_or_end(wants))
    }

    /// What the server says about the channel.
    pub fn on_system(&self) -> SystemMessages {
        SystemMessages::new(self.clone(), self.listen_or_end(Wants::System))
    }

    /// Who comes and leaves. Has to be called before the channel is subscribed, unless it was made
    /// with [presence](super::ChannelBuilder::presence).
    pub fn on_presence(&self) -> Result<PresenceEvents, RealtimeError> {
        let events = self.listen(Wants::Presence)?;
        Ok(PresenceEvents::new(self.clone(), events))
    }

    /// Rows that change. Has to be called before the channel is subscribed.
    pub fn on_postgres(&self, event: Event) -> ChangesRequest {
        ChangesRequest::new(self.clone(), event)
    }

    pub(super) fn listen_to_changes<T>(&self, wanted: Wanted) -> Result<Changes<T>, RealtimeError> {
        let index = self.with_room(|room| room.bind(wanted))?;
        let events = self.listen(Wants::Changes(index))?;
        Ok(Changes::new(self.clone(), events))
    }

    /// Says something to everybody on the channel. If the channel was made with
    /// [ack](super::ChannelBuilder::ack) this waits until the server has taken it; otherwise until
    /// the connection has room for it, and what the connection loses nobody is told about.
    pub async fn send(&self, event: &str, payload: &impl Serialize) -> Result<(), RealtimeError> {
        let payload = Payload::Json(to_json(payload)?);
        self.broadcast(event, payload).await
    }

    /// The same with bytes.
    pub async fn send_bytes(
        &self,
        event: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<(), RealtimeError> {
        if self.0.shared.around.options.vsn == Vsn::V1 {
            return Err(RealtimeError::InvalidInput(
                "version 1 of the protocol has no form for bytes",
            ));
        }
        // `realtime:` stands before the name on the wire.
        let topic_bytes = self.0.name.len() + super::TOPIC_PREFIX.len();
        if event.len() > MAX_NAME_BYTES || topic_bytes > MAX_NAME_BYTES {
            return Err(RealtimeError::InvalidInput(
                "names of channels and events have at most 255 bytes where bytes are sent",
            ));
        }
        self.broadcast(event, Payload::Bytes(bytes.into())).await
    }

    async fn broadcast(&self, event: &str, payload: Payload) -> Result<(), RealtimeError> {
        let body = Body::Broadcast {
            event: event.to_owned(),
            payload,
        };
        self.push("broadcast", body, self.0.config.wants_ack).await
    }

    /// Says something over HTTP. The channel need not be subscribed.
    pub fn send_http(&self, event: &str, payload: &impl Serialize) -> HttpBroadcast {
        let payload = to_json(payload).map(Payload::Json);
        HttpBroadcast::new(self.clone(), event, payload)
    }

    /// The same with bytes.
    pub fn send_http_bytes(&self, event: &str, bytes: impl Into<Bytes>) -> HttpBroadcast {
        HttpBroadcast::new(self.clone(), event, Ok(Payload::Bytes(bytes.into())))
    }

    /// Is present, and says this about it: an object. What was said before is replaced.
    pub async fn track(&self, meta: &impl Serialize) -> Result<(), RealtimeError> {
        let meta = serde_json::to_value(meta).map_err(RealtimeError::unreadable)?;
        if !meta.is_object() {
            return Err(RealtimeError::InvalidInput(
                "what is said about a presence is an object",
            ));
        }
        let payload = json!({ "type": "presence", "event": "track", "payload": meta });
        self.push("presence", Body::Json(payload), true).await
    }

    /// Is present no longer.
    pub async fn untrack(&self) -> Result<(), RealtimeError> {
        let payload = json!({ "type": "presence", "event": "untrack" });
        self.push("presence", Body::Json(payload), true).await
    }

    /// Who is there now.
    pub fn presence(&self) -> PresenceState {
        let id = self.0.id;
        self.0.shared.look(|conversation| conversation.presence(id))
    }

    /// Waits for room on the connection, sends, and waits for the answer if there will be one.
    async fn push(
        &self,
        event: &'static str,
        body: Body,
        is_answered: bool,
    ) -> Result<(), RealtimeError> {
        let (shared, id) = (&self.0.shared, self.0.id);
        loop {
            let capacity = shared.capacity.notified();
            if shared.look(|conversation| conversation.has_capacity()) {
                break;
            }
            capacity.await;
        }
        let (waiter, answer) = match is_answered {
            true => {
                let (waiter, answer) = oneshot::channel();
                (Some(waiter), Some(answer))
            }
            false => (None, None),
        };
        shared.act(|conversation, now| conversation.push(now, id, event, body, waiter))?;
        match answer {
            Some(answer) => answer.await.unwrap_or(Err(RealtimeError::Closed)),
            None => Ok(()),
        }
    }

    fn listen(&self, wants: Wants) -> Result<Reader<ChannelEvent>, RealtimeError> {
        let (queue, reader) = queue(self.0.shared.around.options.bound);
        self.with_room(|room| room.listen(Listener { wants, queue }))?;
        Ok(reader)
    }

    /// For streams that can be had at any time: those of a closed channel end at once.
    fn listen_or_end(&self, wants: Wants) -> Reader<ChannelEvent> {
        self.listen(wants).unwrap_or_else(|_| {
            let (queue, reader) = queue(self.0.shared.around.options.bound);
            queue.end();
            reader
        })
    }

    fn with_room<T>(
        &self,
        act: impl FnOnce(&mut Room) -> Result<T, RealtimeError>,
    ) -> Result<T, RealtimeError> {
        self.0.shared.look(|conversation| {
            let room = conversation.room(self.0.id);
            act(room.ok_or(RealtimeError::Closed)?)
        })
    }
}

fn to_json(value: &impl Serialize) -> Result<Bytes, RealtimeError> {
    let json = serde_json::to_vec(value).map_err(RealtimeError::unreadable)?;
    // As JavaScript has it: nothing is an empty object.
    let is_null = json == Value::Null.to_string().as_bytes();
    Ok(if is_null { "{}".into() } else { json.into() })
}

impl fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Channel")
            .field("name", &self.0.name)
            .field("is_private", &self.0.config.is_private)
            .finish_non_exhaustive()
    }
}
