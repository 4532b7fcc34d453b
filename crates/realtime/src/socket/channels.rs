//! The channels of one socket, and the frames on them (§4, §5).
//!
//! Frames are handled in the order in which they arrive. While a channel waits for the database, its
//! own frames are queued and other channels go on. Nothing here waits: what takes time is pushed to
//! [`SocketChannels::work`], and its outcome comes back to [`SocketChannels::complete`].

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use axum::extract::ws::Message;
use futures_util::{future::BoxFuture, stream::FuturesUnordered};

use super::SocketContext;
use crate::{
    authorize::AuthorizeError,
    channel::{Channel, ChannelError, JoinError, PendingJoin, PreparedJoin},
    clock::now,
    identity::Identity,
    protocol::{IncomingFrame, Payload, Ref, Version, close_frame, reply, system_frame},
    topics::{ChannelId, ReadPermissions},
    usage::SocketPermit,
};

/// How many bytes of frames may be queued behind checks before the socket is no longer read.
const MAX_QUEUED_BYTES: usize = 256 * 1024;

/// The same for checks and delayed replies in flight.
const MAX_WORK_IN_FLIGHT: usize = 256;

/// The channels of one socket.
pub(crate) struct SocketChannels {
    pub(super) context: Arc<SocketContext>,
    pub(super) slots: HashMap<Box<str>, Slot>,
    /// Held while there is a channel.
    pub(super) permit: Option<SocketPermit>,
    pub(super) work: FuturesUnordered<BoxFuture<'static, Outcome>>,
    queued_bytes: usize,
    /// Set when the socket must be closed, with the close code.
    pub(super) close_code: Option<u16>,
}

/// A topic that is joined, or about to be.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) channel: Option<Channel>,
    /// A check is in flight; frames are queued.
    pub(super) is_busy: bool,
    pub(super) queued: VecDeque<IncomingFrame>,
}

/// The outcome of something that took time.
pub(crate) enum Outcome {
    /// An error reply was delayed long enough.
    DelayedReply(Vec<Message>),
    JoinPrepared(Box<PendingJoin>, Result<PreparedJoin, JoinError>),
    /// Whether the channel may send, and the frame that waits for it.
    WriteChecked(Box<IncomingFrame>, Result<WriteCheck, AuthorizeError>),
    /// Whether the replication stream came up in time, for a channel that waits for it.
    ReplicationReady(Box<str>, ChannelId, bool),
    /// What the channel may receive with a new token.
    TokenChecked(
        Box<str>,
        Box<Identity>,
        Result<ReadPermissions, AuthorizeError>,
    ),
}

/// What a channel may send, and what it may receive if that had to be checked as well.
pub(crate) struct WriteCheck {
    pub(super) can_write: bool,
    pub(super) read_permissions: Option<ReadPermissions>,
}

impl SocketChannels {
    pub(super) fn new(context: Arc<SocketContext>) -> Self {
        Self {
            context,
            slots: HashMap::new(),
            permit: None,
            work: FuturesUnordered::new(),
            queued_bytes: 0,
            close_code: None,
        }
    }

    /// Whether the next frame may be read.
    pub(super) fn can_read(&self) -> bool {
        self.queued_bytes < MAX_QUEUED_BYTES && self.work.len() < MAX_WORK_IN_FLIGHT
    }

    pub(super) fn has_channels(&self) -> bool {
        !self.slots.is_empty()
    }

    pub(super) fn handle_frame(&mut self, frame: IncomingFrame) {
        if &*frame.topic == "phoenix" {
            if &*frame.event == "heartbeat" {
                self.reply(&frame, true, "{}");
            }
            return;
        }
        match self.slots.get_mut(&frame.topic) {
            Some(slot) if slot.is_busy => {
                self.queued_bytes += queued_size(&frame);
                slot.queued.push_back(frame);
            }
            Some(slot) if slot.channel.is_some() => match &*frame.event {
                "phx_join" => self.join(frame),
                "phx_leave" => self.leave(&frame),
                _ => self.handle_push(frame),
            },
            _ => match &*frame.event {
                "phx_join" => self.join(frame),
                "phx_leave" => self.reply(&frame, true, "{}"),
                _ => self.reply_unmatched(&frame),
            },
        }
    }

    fn leave(&mut self, frame: &IncomingFrame) {
        let Some(channel) = self.channel(&frame.topic) else {
            return;
        };
        let is_of_older_join = frame.join_ref.is_some() && frame.join_ref != channel.join_ref;
        if is_of_older_join {
            return;
        }
        let join_ref = channel.join_ref.clone();
        self.remove_channel(&frame.topic);
        self.reply(frame, true, "{}");
        let version = self.context.version;
        self.send(close_frame(version, join_ref.as_ref(), &frame.topic));
        self.release_permit_if_unused();
    }

    /// Handles an outcome, and then the frames that waited for it.
    pub(super) fn complete(&mut self, outcome: Outcome) {
        let topic = match outcome {
            Outcome::DelayedReply(messages) => {
                for message in messages {
                    self.send(message);
                }
                return;
            }
            Outcome::ReplicationReady(topic, channel, is_up) => {
                return self.report_replication(&topic, channel, is_up);
            }
            Outcome::JoinPrepared(join, prepared) => {
                let topic = join.topic.clone();
                self.set_busy(&topic, false);
                self.complete_join(*join, prepared);
                topic
            }
            Outcome::WriteChecked(frame, check) => {
                let topic = frame.topic.clone();
                self.set_busy(&topic, false);
                self.apply_write_check(*frame, check);
                topic
            }
            Outcome::TokenChecked(topic, identity, permissions) => {
                self.set_busy(&topic, false);
                self.apply_token(&topic, *identity, permissions);
                topic
            }
        };
        self.handle_queued(&topic);
    }

    fn handle_queued(&mut self, topic: &str) {
        while let Some(slot) = self.slots.get_mut(topic)
            && !slot.is_busy
        {
            let Some(frame) = slot.queued.pop_front() else {
                if slot.channel.is_none() {
                    self.slots.remove(topic);
                    self.release_permit_if_unused();
                }
                return;
            };
            self.queued_bytes = self.queued_bytes.saturating_sub(queued_size(&frame));
            self.handle_frame(frame);
        }
    }

    pub(super) fn set_busy(&mut self, topic: &str, is_busy: bool) {
        if let Some(slot) = self.slots.get_mut(topic) {
            slot.is_busy = is_busy;
        }
    }

    pub(super) fn channel(&mut self, topic: &str) -> Option<&mut Channel> {
        self.slots.get_mut(topic)?.channel.as_mut()
    }

    /// Removes the channel from its topic; sends nothing to the client. Its slot stays while frames
    /// are queued in it.
    pub(super) fn remove_channel(&mut self, topic: &str) -> Option<Channel> {
        let slot = self.slots.get_mut(topic)?;
        let channel = slot.channel.take();
        if slot.queued.is_empty() && !slot.is_busy {
            self.slots.remove(topic);
        }
        let channel = channel?;
        let hub = &self.context.hub;
        let delivered = hub.topics.leave(&channel.topic, channel.member.id);
        hub.usage.presence_events.add(delivered as u64);
        Some(channel)
    }

    /// Closes a channel with an error that the client receives as a `system` message.
    pub(super) fn close_with_error(&mut self, topic: &str, error: &ChannelError) {
        if let Some(code) = error.limit_code() {
            tracing::warn!(code, "closing a channel over a limit: {error}");
            self.context.hub.metrics.count_error(code);
        }
        let Some(channel) = self.remove_channel(topic) else {
            return;
        };
        let version = self.context.version;
        let join_ref = channel.join_ref.as_ref();
        let message = error.to_string();
        self.send(system_frame(
            version, join_ref, topic, "system", false, &message,
        ));
        self.send(close_frame(version, join_ref, topic));
        self.release_permit_if_unused();
    }

    /// Removes all channels.
    pub(super) fn remove_all(&mut self) {
        let topics: Vec<Box<str>> = self.slots.keys().cloned().collect();
        for topic in topics {
            self.remove_channel(&topic);
        }
    }

    /// Verifies every channel's credential again, and closes those whose credential is no longer
    /// valid.
    pub(super) fn reverify_credentials(&mut self) {
        let now = now();
        let invalid: Vec<(Box<str>, ChannelError)> = self
            .joined()
            .filter_map(|(topic, channel)| {
                let verified = channel.identity.reverify(&self.context.project, now);
                let error = ChannelError::Credential(verified.err()?);
                Some((topic.into(), error))
            })
            .collect();
        for (topic, error) in invalid {
            self.close_with_error(&topic, &error);
        }
    }

    /// Whether all credentials are still valid: those of the channels or, without any, the socket's.
    pub(super) fn has_valid_credentials(&self) -> bool {
        let (project, now) = (&self.context.project, now());
        let is_valid = |identity: &Identity| identity.reverify(project, now).is_ok();
        if self.has_channels() {
            self.joined()
                .all(|(_, channel)| is_valid(&channel.identity))
        } else {
            is_valid(&self.context.identity)
        }
    }

    /// When the first of the channels' tokens expires, in seconds since 1970.
    pub(super) fn next_expiry(&self) -> Option<i64> {
        let times = self
            .joined()
            .filter_map(|(_, channel)| channel.identity.expires_at);
        times.min()
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = &str> {
        self.joined().map(|(topic, _)| topic)
    }

    pub(super) fn has_public_channel(&self) -> bool {
        self.joined().any(|(_, channel)| !channel.topic.is_private)
    }

    fn joined(&self) -> impl Iterator<Item = (&str, &Channel)> {
        let slots = self.slots.iter();
        slots.filter_map(|(topic, slot)| Some((&**topic, slot.channel.as_ref()?)))
    }

    pub(super) fn release_permit_if_unused(&mut self) {
        if self.slots.is_empty() {
            self.permit = None;
        }
    }

    pub(super) fn send(&self, message: Message) {
        self.context.outbound.push(message);
    }

    pub(super) fn reply(&self, frame: &IncomingFrame, is_ok: bool, response: &str) {
        self.send(self.make_reply(frame, is_ok, response));
    }

    pub(super) fn make_reply(&self, frame: &IncomingFrame, is_ok: bool, response: &str) -> Message {
        let refs = (frame.join_ref.as_ref(), frame.reference.as_ref());
        reply(self.context.version, refs, &frame.topic, is_ok, response)
    }

    fn reply_unmatched(&self, frame: &IncomingFrame) {
        let reference = frame.reference.as_ref();
        self.send(unmatched_reply(
            self.context.version,
            reference,
            &frame.topic,
        ));
    }
}

/// The reply to a frame on a topic that is not joined, or that no channel can have.
pub(super) fn unmatched_reply(version: Version, reference: Option<&Ref>, topic: &str) -> Message {
    let response = r#"{"reason":"unmatched topic"}"#;
    reply(version, (None, reference), topic, false, response)
}

/// Roughly the memory of a queued frame.
fn queued_size(frame: &IncomingFrame) -> usize {
    let payload = match &frame.payload {
        Payload::Json(raw) => raw.get().len(),
        Payload::Broadcast(broadcast) => broadcast.body.len(),
        Payload::Bytes => 0,
    };
    payload + 128
}
