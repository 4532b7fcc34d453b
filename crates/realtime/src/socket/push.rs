//! Frames on a joined channel: broadcasts (§6.1) and presence (§7.1). Tokens (§8.1) are in
//! `access_token`.

use serde_json::value::RawValue;

use super::{
    PushError,
    channels::{Outcome, SocketChannels, WriteCheck},
    log::Severity,
};
use crate::{
    authorize::{AuthorizeError, Extension},
    channel::ChannelError,
    protocol::{Broadcast, IncomingFrame, Payload, RawObject},
    topics::TopicMessage,
};

impl SocketChannels {
    /// A frame on a channel that is joined.
    pub(super) fn handle_push(&mut self, frame: IncomingFrame) {
        match &*frame.event {
            "broadcast" => self.handle_broadcast(frame),
            "presence" => self.handle_presence(frame),
            "access_token" => self.handle_access_token(&frame),
            event => {
                self.context.hub.usage.events.add(1);
                let what = format_args!("ignoring unknown event {event:?}");
                self.context
                    .log
                    .record(Severity::Info, "UnknownEvent", what);
            }
        }
    }

    fn handle_broadcast(&mut self, frame: IncomingFrame) {
        let config = self.context.config();
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        let (acks, can_write) = (channel.acks, channel.write_permissions.broadcast);
        let (topic, sender) = (channel.topic.clone(), channel.member.id);
        let size = match &frame.payload {
            Payload::Json(payload) => payload.get().len(),
            Payload::Broadcast(user) => user.body.len(),
            Payload::Bytes => return,
        };
        if size > config.max_payload_bytes {
            if acks {
                self.reply(&frame, false, PushError::PayloadTooLarge.response());
            }
            return;
        }
        if self.context.hub.events_per_second() >= config.max_events {
            return self.close_with_error(&frame.topic, &ChannelError::MessageRate);
        }
        match can_write {
            None => return self.check_write(frame, Extension::Broadcast),
            // No reply, by contract.
            Some(false) => return,
            Some(true) => {}
        }
        let ack = acks.then(|| {
            if self.context.hub.reaches_all_nodes() {
                self.make_reply(&frame, true, "{}")
            } else {
                // It is delivered here all the same.
                self.make_reply(&frame, false, PushError::NodesUnreachable.response())
            }
        });
        let broadcast = match frame.payload {
            Payload::Json(payload) => Broadcast::Verbatim(Box::from(payload.get())),
            Payload::Broadcast(user) => Broadcast::User(user),
            Payload::Bytes => return,
        };
        let delivered = topic.broadcast(&broadcast, Some(sender));
        let hub = &self.context.hub;
        hub.usage.events.add(1 + delivered as u64);
        hub.metrics.broadcast_bytes.record(size as f64);
        topic.publish_remote(TopicMessage::Broadcast {
            id: None,
            broadcast,
        });
        if let Some(ack) = ack {
            self.send(ack);
        }
    }

    fn handle_presence(&mut self, frame: IncomingFrame) {
        let config = self.context.config();
        let Payload::Json(payload) = &frame.payload else {
            return;
        };
        let payload = RawObject::parse(payload).unwrap_or_default();
        if payload.get("event").is_none() {
            return self.reply(&frame, true, "{}");
        }
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        if !channel
            .presence_window
            .try_add(config.presence_calls, config.presence_window)
        {
            return self.close_with_error(&frame.topic, &ChannelError::ClientPresenceRate);
        }
        let hub = &self.context.hub;
        if hub.presence_events_per_second() >= config.max_presence_events {
            return self.close_with_error(&frame.topic, &ChannelError::PresenceRate);
        }
        hub.usage.presence_events.add(1);
        self.handle_presence_event(frame, &payload);
    }

    /// A presence call that is within the limits.
    fn handle_presence_event(&mut self, frame: IncomingFrame, payload: &RawObject) {
        let event = payload.get("event");
        let event: Option<String> = event.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let event = event.map(|event| event.to_lowercase());
        match event.as_deref() {
            Some("track") => self.track(frame, payload.get("payload")),
            Some("untrack") => {
                let reply = self.make_reply(&frame, true, "{}");
                let Some(channel) = self.channel(&frame.topic) else {
                    return;
                };
                let delivered = channel.topic.untrack(&channel.member, reply);
                self.context.hub.usage.presence_events.add(delivered as u64);
            }
            _ => self.reply(&frame, false, "{}"),
        }
    }

    fn track(&mut self, frame: IncomingFrame, payload: Option<&RawValue>) {
        let object = match payload {
            None => Some(RawObject::default()),
            Some(raw) => RawObject::parse(raw),
        };
        let Some(object) = object else {
            return self.reply(&frame, false, PushError::TrackNotAnObject.response());
        };
        let size = payload.map_or(0, |raw| raw.get().len());
        if size > self.context.config().max_payload_bytes {
            return self.close_with_error(&frame.topic, &ChannelError::TrackTooLarge);
        }
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        match channel.write_permissions.presence {
            None => return self.check_write(frame, Extension::Presence),
            Some(false) => return self.reply(&frame, false, "{}"),
            Some(true) => {}
        }
        channel.has_presence = true;
        let hub = self.context.hub.clone();
        hub.metrics.presence_bytes.record(size as f64);
        // Refs are assigned by the server.
        let members = object.without(&["phx_ref", "phx_ref_prev"]).members();
        let reply = self.make_reply(&frame, true, "{}");
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        let delivered =
            channel
                .topic
                .track(&channel.member, &channel.presence_key, &members, reply);
        hub.usage.presence_events.add(delivered as u64);
    }

    /// Checks the write policies; the frame is handled again with the outcome.
    fn check_write(&mut self, frame: IncomingFrame, extension: Extension) {
        let context = self.context.clone();
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        let check = channel.access_check(&channel.identity, &context.headers);
        // A channel that joined without presence may receive it once it tracks.
        let checks_reading = extension == Extension::Presence && !channel.has_presence;
        self.set_busy(&frame.topic, true);
        self.work.push(Box::pin(async move {
            let (db, metrics) = (&context.project.db, &context.hub.metrics);
            let outcome = async {
                let can_write = check.can_write(db, extension);
                let can_write = metrics.time_write_check(can_write).await?;
                let read_permissions = if checks_reading {
                    let permissions = check.read_permissions(db, true);
                    Some(metrics.time_read_check(permissions).await?)
                } else {
                    None
                };
                Ok(WriteCheck {
                    can_write,
                    read_permissions,
                })
            };
            let outcome = outcome.await;
            Outcome::WriteChecked(Box::new(frame), outcome)
        }));
    }

    pub(super) fn apply_write_check(
        &mut self,
        frame: IncomingFrame,
        check: Result<WriteCheck, AuthorizeError>,
    ) {
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        let extension = match &*frame.event {
            "presence" => Extension::Presence,
            _ => Extension::Broadcast,
        };
        let check = match check {
            Ok(check) => check,
            // Nothing is cached: the next frame checks again.
            Err(error) => {
                tracing::warn!(
                    code = "UnableToSetPolicies",
                    "write permission check on a channel failed: {error}"
                );
                if extension == Extension::Presence {
                    self.reply(&frame, false, "{}");
                }
                return;
            }
        };
        match extension {
            Extension::Broadcast => channel.write_permissions.broadcast = Some(check.can_write),
            Extension::Presence => channel.write_permissions.presence = Some(check.can_write),
        }
        if let Some(permissions) = check.read_permissions {
            channel.has_presence = true;
            channel.member.set_read_permissions(permissions);
        }
        match (extension, &frame.payload) {
            (Extension::Presence, Payload::Json(payload)) => {
                let payload = RawObject::parse(payload).unwrap_or_default();
                self.handle_presence_event(frame, &payload);
            }
            _ => self.handle_broadcast(frame),
        }
    }
}
