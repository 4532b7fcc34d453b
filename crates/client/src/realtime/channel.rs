//! The channel handle.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::changes::{BindingRequest, ChangesRequest, Event};
use super::event::{ChannelEvent, Payload};
use super::frame::{Body, MAX_NAME_BYTES};
use super::http_broadcast::HttpBroadcast;
use super::presence::PresenceState;
use super::protocol::{ChannelConfig, ChannelId, ChannelState, EventFilter, Subscriber};
use super::queue::{Reader, queue};
use super::shared::Shared;
use super::streams::{Broadcasts, Changes, PresenceEvents, Statuses, Subscription, SystemMessages};
use super::{RealtimeError, Vsn};

/// A channel of a project. Cheap to clone; clones and the streams made of it share the channel, which
/// is left when the last of them is dropped.
#[derive(Clone)]
pub struct Channel(pub(super) Arc<ChannelInner>);

pub(super) struct ChannelInner {
    pub(super) shared: Arc<Shared>,
    pub(super) id: ChannelId,
    pub(super) name: String,
    pub(super) config: ChannelConfig,
}

impl Drop for ChannelInner {
    fn drop(&mut self) {
        self.shared.remove_handle(self.id);
        self.shared
            .update_state(|protocol, now| protocol.leave(now, self.id));
    }
}

impl Channel {
    /// The channel's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it is a private one.
    pub fn is_private(&self) -> bool {
        self.0.config.is_private
    }

    /// Whether it has joined.
    pub fn is_subscribed(&self) -> bool {
        self.0.shared.read_state(|protocol| {
            protocol
                .channel(self.0.id)
                .is_some_and(|channel| channel.is_joined())
        })
    }

    /// Joins, and returns a stream of all events from then on. To receive only some of them, create streams
    /// before ([`Channel::on_broadcast`] and others) and drop this one.
    ///
    /// The error is that of the first attempt. The channel keeps retrying after 1, 2, 5 and then always
    /// 10 s, until it is [unsubscribed](Channel::unsubscribe) or dropped; see
    /// [`Channel::statuses`].
    pub async fn subscribe(&self) -> Result<Subscription, RealtimeError> {
        let events = self.listen(EventFilter::Everything)?;
        let (waiter, outcome) = oneshot::channel();
        let id = self.0.id;
        self.0
            .shared
            .update_state(|protocol, now| protocol.subscribe(now, id, waiter));
        outcome.await.unwrap_or(Err(RealtimeError::Closed))?;
        Ok(Subscription::new(self.clone(), events))
    }

    /// Leaves. Its streams end, and it cannot be subscribed again: create a new one.
    pub fn unsubscribe(&self) {
        self.0.shared.remove_handle(self.0.id);
        self.0
            .shared
            .update_state(|protocol, now| protocol.leave(now, self.0.id));
    }

    /// Status changes of the channel, from now on.
    pub fn statuses(&self) -> Statuses {
        Statuses::new(self.clone(), self.listen_or_end(EventFilter::Statuses))
    }

    /// Broadcasts of this event name, ignoring case; all broadcasts if it is `*`.
    pub fn on_broadcast(&self, event: impl Into<String>) -> Broadcasts {
        let filter = EventFilter::Broadcasts(event.into());
        Broadcasts::new(self.clone(), self.listen_or_end(filter))
    }

    /// System messages about the channel.
    pub fn on_system(&self) -> SystemMessages {
        SystemMessages::new(self.clone(), self.listen_or_end(EventFilter::System))
    }

    /// Presence events. Must be called before the channel is subscribed, unless it was created with
    /// [presence](super::ChannelBuilder::presence).
    pub fn on_presence(&self) -> Result<PresenceEvents, RealtimeError> {
        let events = self.listen(EventFilter::Presence)?;
        Ok(PresenceEvents::new(self.clone(), events))
    }

    /// Row changes. Must be called before the channel is subscribed.
    pub fn on_postgres(&self, event: Event) -> ChangesRequest {
        ChangesRequest::new(self.clone(), event)
    }

    pub(super) fn listen_to_changes<T>(
        &self,
        request: BindingRequest,
    ) -> Result<Changes<T>, RealtimeError> {
        let index = self.with_channel(|channel| channel.bind(request))?;
        let events = self.listen(EventFilter::Changes(index))?;
        Ok(Changes::new(self.clone(), events))
    }

    /// Sends a broadcast to all subscribers of the channel. With [ack](super::ChannelBuilder::ack) this
    /// waits for the server's acknowledgement; otherwise only until the connection accepts the message,
    /// and a later loss is not reported.
    pub async fn send(&self, event: &str, payload: &impl Serialize) -> Result<(), RealtimeError> {
        let payload = Payload::Json(to_json(payload)?);
        self.broadcast(event, payload).await
    }

    /// Sends a broadcast of bytes.
    pub async fn send_bytes(
        &self,
        event: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<(), RealtimeError> {
        if self.0.shared.environment.options.vsn == Vsn::V1 {
            return Err(RealtimeError::InvalidInput(
                "version 1 of the protocol has no form for bytes",
            ));
        }
        // The topic on the wire is prefixed with `realtime:`.
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

    /// Sends a broadcast over HTTP. The channel need not be subscribed.
    pub fn send_http(&self, event: &str, payload: &impl Serialize) -> HttpBroadcast {
        let payload = to_json(payload).map(Payload::Json);
        HttpBroadcast::new(self.clone(), event, payload)
    }

    /// Sends a broadcast of bytes over HTTP.
    pub fn send_http_bytes(&self, event: &str, bytes: impl Into<Bytes>) -> HttpBroadcast {
        HttpBroadcast::new(self.clone(), event, Ok(Payload::Bytes(bytes.into())))
    }

    /// Tracks this client's presence with these metadata, an object that replaces an earlier one.
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

    /// Stops tracking this client's presence.
    pub async fn untrack(&self) -> Result<(), RealtimeError> {
        let payload = json!({ "type": "presence", "event": "untrack" });
        self.push("presence", Body::Json(payload), true).await
    }

    /// The current presence state.
    pub fn presence(&self) -> PresenceState {
        let id = self.0.id;
        self.0.shared.read_state(|protocol| protocol.presence(id))
    }

    /// Waits for capacity on the connection, sends, and waits for the reply if there will be one.
    async fn push(
        &self,
        event: &'static str,
        body: Body,
        wants_reply: bool,
    ) -> Result<(), RealtimeError> {
        let (shared, id) = (&self.0.shared, self.0.id);
        loop {
            let capacity = shared.capacity.notified();
            if shared.read_state(|protocol| protocol.has_capacity()) {
                break;
            }
            capacity.await;
        }
        let (waiter, response) = if wants_reply {
            let (waiter, response) = oneshot::channel();
            (Some(waiter), Some(response))
        } else {
            (None, None)
        };
        shared.update_state(|protocol, now| protocol.push(now, id, event, body, waiter))?;
        match response {
            Some(response) => response.await.unwrap_or(Err(RealtimeError::Closed)),
            None => Ok(()),
        }
    }

    fn listen(&self, filter: EventFilter) -> Result<Reader<ChannelEvent>, RealtimeError> {
        let (queue, reader) = queue(self.0.shared.environment.options.limits);
        self.with_channel(|channel| channel.listen(Subscriber { filter, queue }))?;
        Ok(reader)
    }

    /// For streams that can be created at any time: those of a closed channel end at once.
    fn listen_or_end(&self, filter: EventFilter) -> Reader<ChannelEvent> {
        self.listen(filter).unwrap_or_else(|_| {
            let (queue, reader) = queue(self.0.shared.environment.options.limits);
            queue.end();
            reader
        })
    }

    fn with_channel<T>(
        &self,
        update_state: impl FnOnce(&mut ChannelState) -> Result<T, RealtimeError>,
    ) -> Result<T, RealtimeError> {
        self.0.shared.read_state(|protocol| {
            let channel = protocol.channel(self.0.id);
            update_state(channel.ok_or(RealtimeError::Closed)?)
        })
    }
}

fn to_json(value: &impl Serialize) -> Result<Bytes, RealtimeError> {
    let json = serde_json::to_vec(value).map_err(RealtimeError::unreadable)?;
    // As in JavaScript, null becomes an empty object.
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
