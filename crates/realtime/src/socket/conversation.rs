//! What a client says on its socket and what becomes of it (§4, §5).
//!
//! Frames are taken in the order in which they come. A channel that waits for the database lets its
//! own frames wait and holds up no other channel. Nothing here waits: what takes time is put into
//! [`Conversation::work`], and its outcome comes back to [`Conversation::finish`].

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use axum::extract::ws::Message;
use futures_util::{future::BoxFuture, stream::FuturesUnordered};
use serde_json::value::RawValue;

use super::{Scene, log::Severity};
use crate::{
    authorize::AuthorizeError,
    channel::{
        Admission, Channel, JoinRefusal, Joining, TOPIC_PREFIX, Wish, close_frame, system_frame,
    },
    clock::now,
    hub::Seat,
    identity::{Identity, Refusal},
    protocol::{Incoming, Payload, Ref, reply},
    rooms::{ChannelId, Hearing},
    stream::{self, Flow},
};

/// How many bytes of frames may wait for the database before the client is no longer listened to.
const PATIENCE: usize = 256 * 1024;

/// The same for questions and refusals that are under way.
const MOST_AT_WORK: usize = 256;

/// The state of one socket.
pub(crate) struct Conversation {
    pub(super) scene: Arc<Scene>,
    channels: HashMap<Box<str>, Slot>,
    /// While it has a channel.
    seat: Option<Seat>,
    pub(super) work: FuturesUnordered<BoxFuture<'static, Outcome>>,
    waiting_bytes: usize,
    /// Set when the socket must end.
    pub(super) ends: Option<u16>,
}

/// A topic that is joined, or about to be.
#[derive(Default)]
struct Slot {
    channel: Option<Channel>,
    /// Something about it is being asked; its frames wait.
    is_busy: bool,
    waiting: VecDeque<Incoming>,
}

/// What came of something that took time.
pub(crate) enum Outcome {
    /// A refusal was held back long enough.
    Say(Vec<Message>),
    Joined(Box<Joining>, Result<Admission, JoinRefusal>),
    /// Whether something may be said, and the frame that wants to.
    Written(Box<Incoming>, Result<WriteAnswer, AuthorizeError>),
    /// Whether messages of the database arrive, for a channel that wants to know.
    Replicating(Box<str>, ChannelId, bool),
    /// What may be heard with another token.
    Heard(Box<str>, Box<Identity>, Result<Hearing, AuthorizeError>),
}

/// What may be said, and heard of those who say it.
pub(crate) struct WriteAnswer {
    pub(super) may_write: bool,
    pub(super) hearing: Option<Hearing>,
}

impl Conversation {
    pub(super) fn new(scene: Arc<Scene>) -> Self {
        Self {
            scene,
            channels: HashMap::new(),
            seat: None,
            work: FuturesUnordered::new(),
            waiting_bytes: 0,
            ends: None,
        }
    }

    /// Whether the client may go on.
    pub(super) fn takes_more(&self) -> bool {
        self.waiting_bytes < PATIENCE && self.work.len() < MOST_AT_WORK
    }

    pub(super) fn has_channels(&self) -> bool {
        !self.channels.is_empty()
    }

    /// One frame.
    pub(super) fn hear(&mut self, incoming: Incoming) {
        if &*incoming.topic == "phoenix" {
            if &*incoming.event == "heartbeat" {
                self.answer(&incoming, true, "{}");
            }
            return;
        }
        match self.channels.get_mut(&incoming.topic) {
            Some(slot) if slot.is_busy => {
                self.waiting_bytes += weight(&incoming);
                slot.waiting.push_back(incoming);
            }
            Some(slot) if slot.channel.is_some() => match &*incoming.event {
                "phx_join" => self.join(incoming),
                "phx_leave" => self.leave(&incoming),
                _ => self.speak(incoming),
            },
            _ => match &*incoming.event {
                "phx_join" => self.join(incoming),
                "phx_leave" => self.answer(&incoming, true, "{}"),
                _ => self.refuse_unmatched(&incoming),
            },
        }
    }

    fn join(&mut self, incoming: Incoming) {
        let Incoming {
            join_ref,
            reference,
            topic,
            payload,
            ..
        } = incoming;
        let wish = match &payload {
            Payload::Json(payload) => Wish::read(payload),
            _ => Wish::read(RawValue::NULL),
        };
        if !wish.complaints.is_empty() {
            let parts = wish.complaints.join(", ");
            let (log, code) = (&self.scene.log, "InvalidJoinPayload");
            log.note(
                Severity::Warning,
                code,
                format_args!("not understood: {parts}"),
            );
        }
        let replaced = self.end_channel(&topic).map(|channel| channel.join_ref);
        let config = self.scene.config();
        let mut joining = Joining {
            wants_presence: wish.wants_presence || config.has_presence,
            topic,
            join_ref,
            reference,
            identity: self.scene.identity.clone(),
            wish,
            replaced: replaced.into_iter().collect(),
        };
        match self.find_refusal(&mut joining) {
            Some(refusal) => self.refuse(&joining, &refusal),
            None if joining.is_open_to_all() && self.scene.hub.link().is_none() => {
                self.admit(joining, Ok(Admission::public()));
            }
            None => {
                let slot = self.channels.entry(joining.topic.clone()).or_default();
                slot.is_busy = true;
                let scene = self.scene.clone();
                if joining.wish.replay.is_some() {
                    stream::keep_open(&scene.hub, &scene.project, &scene.tasks, &scene.stop);
                }
                self.work.push(Box::pin(async move {
                    let db = &scene.project.db;
                    let admission = joining.prepare(&scene.hub, db, &scene.headers).await;
                    Outcome::Joined(Box::new(joining), admission)
                }));
            }
        }
    }

    /// Everything that needs no database, in the contract's order.
    fn find_refusal(&mut self, joining: &mut Joining) -> Option<JoinRefusal> {
        let scene = &self.scene;
        let config = scene.config();
        match joining.topic.strip_prefix(TOPIC_PREFIX) {
            None => return Some(JoinRefusal::UnmatchedTopic),
            Some("") => return Some(JoinRefusal::TopicNameRequired),
            Some(_) => {}
        }
        if scene.stop.is_cancelled() {
            return Some(JoinRefusal::Restarting);
        }
        if !config.is_enabled {
            return Some(JoinRefusal::Disabled);
        }
        if config.is_private_only && !joining.wish.is_private {
            return Some(JoinRefusal::PrivateOnly);
        }
        if self.seat.is_none() {
            self.seat = scene.hub.seat(config.max_sockets);
            if self.seat.is_none() {
                return Some(JoinRefusal::TooManySockets);
            }
        }
        if scene.hub.joins_per_second() >= config.max_joins {
            return Some(JoinRefusal::TooManyJoins);
        }
        scene.hub.joins.add(1);
        if self.channels.len() >= config.max_channels {
            return Some(JoinRefusal::TooManyChannels);
        }
        let own = joining.wish.token.as_deref();
        let own = own.filter(|token| !token.starts_with("sb_"));
        let identity = match own {
            Some(token) => Identity::verify(&scene.project, token, now()),
            None => scene
                .identity
                .verify_again(&scene.project, now())
                .map(|()| scene.identity.clone()),
        };
        match identity {
            Ok(identity) => joining.identity = identity,
            Err(refusal) => return Some(JoinRefusal::Token(refusal)),
        }
        if joining.wish.replay.is_some() && !joining.wish.is_private {
            return Some(JoinRefusal::ReplayOnPublic);
        }
        None
    }

    fn admit(&mut self, joining: Joining, admission: Result<Admission, JoinRefusal>) {
        let admission = match admission {
            Ok(admission) if admission.has_missed_too_much() => {
                return self.refuse(&joining, &JoinRefusal::ReplayFailed);
            }
            Ok(admission) => admission,
            Err(refusal) => return self.refuse(&joining, &refusal),
        };
        let scene = self.scene.clone();
        let replaced = joining.replaced.clone();
        let topic = joining.topic.clone();
        let waits_for_replication = joining.wish.replication_ready;
        let mut channel = joining.enter(&scene.hub, scene.version, &scene.outbox, admission);
        for join_ref in &replaced {
            self.say(close_frame(scene.version, join_ref.as_ref(), &topic));
        }
        stream::keep_open(&scene.hub, &scene.project, &scene.tasks, &scene.stop);
        channel.subscribe(&scene.hub, &scene.project.db);
        if waits_for_replication {
            self.wait_for_replication(&topic, channel.member.id);
        }
        let slot = self.channels.entry(topic).or_default();
        slot.channel = Some(channel);
    }

    /// The client is told once messages of the database arrive.
    fn wait_for_replication(&mut self, topic: &str, channel: ChannelId) {
        let mut flow = self.scene.hub.stream.flow();
        let patience = self.scene.config().replication_ready_timeout;
        let topic: Box<str> = topic.into();
        self.work.push(Box::pin(async move {
            let is_up = flow.wait_for(|flow| matches!(flow, Flow::Up { .. }));
            let is_up = tokio::time::timeout(patience, is_up).await;
            Outcome::Replicating(topic, channel, matches!(is_up, Ok(Ok(_))))
        }));
    }

    fn tell_of_replication(&mut self, topic: &str, channel: ChannelId, is_up: bool) {
        let version = self.scene.version;
        let joined = self.channel(topic);
        let Some(joined) = joined.filter(|joined| joined.member.id == channel) else {
            return;
        };
        let join_ref = joined.join_ref.clone();
        match is_up {
            true => self.say(system_frame(
                version,
                join_ref.as_ref(),
                topic,
                "system",
                true,
                "Replication connection established",
            )),
            false => self.fail(topic, "Replication connection was not established in time"),
        }
    }

    fn refuse(&mut self, joining: &Joining, refusal: &JoinRefusal) {
        let version = self.scene.version;
        let (code, topic) = (refusal.code(), &joining.topic);
        // Both may have anything in them that a client can write.
        let why = refusal.to_string();
        let what = format_args!("{topic:?} was not joined: {why:?}");
        self.scene.log.note(Severity::Warning, &code, what);
        self.scene.hub.numbers.error(&code);
        if self
            .channels
            .get(&joining.topic)
            .is_some_and(|slot| slot.channel.is_none() && slot.waiting.is_empty())
        {
            self.channels.remove(&joining.topic);
        }
        self.give_up_seat();
        let mut said = match refusal {
            JoinRefusal::UnmatchedTopic => {
                let reference = joining.reference.as_ref();
                vec![unmatched(version, reference, &joining.topic)]
            }
            _ => vec![joining.refused(version, refusal)],
        };
        let closed = joining.replaced.iter();
        said.extend(closed.map(|old| close_frame(version, old.as_ref(), &joining.topic)));
        if refusal.ends_socket() {
            self.ends = Some(axum::extract::ws::close_code::AWAY);
        }
        if refusal.is_told_at_once() {
            for message in said {
                self.say(message);
            }
            return;
        }
        // Held back by a timer of its own, so that clients which try again at once do not storm
        // and the rest of the socket goes on.
        let backoff = self.scene.config().channel_error_backoff;
        self.work.push(Box::pin(async move {
            tokio::time::sleep(backoff).await;
            Outcome::Say(said)
        }));
    }

    fn leave(&mut self, incoming: &Incoming) {
        let Some(channel) = self.channel(&incoming.topic) else {
            return;
        };
        let names_another = incoming.join_ref.is_some() && incoming.join_ref != channel.join_ref;
        if names_another {
            return;
        }
        let join_ref = channel.join_ref.clone();
        self.end_channel(&incoming.topic);
        self.answer(incoming, true, "{}");
        let version = self.scene.version;
        self.say(close_frame(version, join_ref.as_ref(), &incoming.topic));
        self.give_up_seat();
    }

    /// What took time has come to its end; frames that waited for it go on.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        let topic = match outcome {
            Outcome::Say(messages) => {
                for message in messages {
                    self.say(message);
                }
                return;
            }
            Outcome::Replicating(topic, channel, is_up) => {
                return self.tell_of_replication(&topic, channel, is_up);
            }
            Outcome::Joined(joining, admission) => {
                let topic = joining.topic.clone();
                self.set_busy(&topic, false);
                self.admit(*joining, admission);
                topic
            }
            Outcome::Written(incoming, answer) => {
                let topic = incoming.topic.clone();
                self.set_busy(&topic, false);
                self.speak_when_asked(*incoming, answer);
                topic
            }
            Outcome::Heard(topic, identity, hearing) => {
                self.set_busy(&topic, false);
                self.take_over(&topic, *identity, hearing);
                topic
            }
        };
        self.go_on(&topic);
    }

    fn go_on(&mut self, topic: &str) {
        while let Some(slot) = self.channels.get_mut(topic)
            && !slot.is_busy
        {
            let Some(incoming) = slot.waiting.pop_front() else {
                if slot.channel.is_none() {
                    self.channels.remove(topic);
                    self.give_up_seat();
                }
                return;
            };
            self.waiting_bytes = self.waiting_bytes.saturating_sub(weight(&incoming));
            // A channel that ended leaves its slot only while frames wait.
            self.hear(incoming);
        }
    }

    pub(super) fn set_busy(&mut self, topic: &str, is_busy: bool) {
        if let Some(slot) = self.channels.get_mut(topic) {
            slot.is_busy = is_busy;
        }
    }

    pub(super) fn channel(&mut self, topic: &str) -> Option<&mut Channel> {
        self.channels.get_mut(topic)?.channel.as_mut()
    }

    /// Takes the channel out of its room. Nothing is said to the client.
    fn end_channel(&mut self, topic: &str) -> Option<Channel> {
        let slot = self.channels.get_mut(topic)?;
        let channel = slot.channel.take();
        if slot.waiting.is_empty() && !slot.is_busy {
            self.channels.remove(topic);
        }
        let channel = channel?;
        let hub = &self.scene.hub;
        let told = hub.rooms.leave(&channel.room, channel.member.id);
        hub.presence_events.add(told as u64);
        Some(channel)
    }

    /// Ends a channel for a reason that the client is told.
    pub(super) fn fail(&mut self, topic: &str, message: &str) {
        let Some(channel) = self.end_channel(topic) else {
            return;
        };
        let version = self.scene.version;
        let join_ref = channel.join_ref.as_ref();
        self.say(system_frame(
            version, join_ref, topic, "system", false, message,
        ));
        self.say(close_frame(version, join_ref, topic));
        self.give_up_seat();
    }

    /// Ends a channel that goes beyond a limit.
    pub(super) fn hold_to_limit(&mut self, topic: &str, code: &'static str, message: &str) {
        tracing::warn!(code, "a channel is closed: {message}");
        self.scene.hub.numbers.error(code);
        self.fail(topic, message);
    }

    /// Ends all channels.
    pub(super) fn end(&mut self) {
        let topics: Vec<Box<str>> = self.channels.keys().cloned().collect();
        for topic in topics {
            self.end_channel(&topic);
        }
    }

    /// Verifies every token again; channels whose token is no longer good end.
    pub(super) fn verify_again(&mut self) {
        let now = now();
        let refused: Vec<(Box<str>, Refusal)> = self
            .joined()
            .filter_map(|(topic, channel)| {
                let verified = channel.identity.verify_again(&self.scene.project, now);
                Some((topic.into(), verified.err()?))
            })
            .collect();
        for (topic, refusal) in refused {
            self.fail(&topic, &refusal.text());
        }
    }

    /// Whether all tokens are still good, those of the channels or, without any, the socket's own.
    pub(super) fn has_good_tokens(&self) -> bool {
        let (project, now) = (&self.scene.project, now());
        let is_good = |identity: &Identity| identity.verify_again(project, now).is_ok();
        match self.has_channels() {
            true => self.joined().all(|(_, channel)| is_good(&channel.identity)),
            false => is_good(&self.scene.identity),
        }
    }

    /// When the first of the tokens ends, in seconds since 1970.
    pub(super) fn next_expiry(&self) -> Option<i64> {
        let times = self
            .joined()
            .filter_map(|(_, channel)| channel.identity.expires_at);
        times.min()
    }

    pub(super) fn topics(&self) -> impl Iterator<Item = &str> {
        self.joined().map(|(topic, _)| topic)
    }

    /// Whether a public channel is open.
    pub(super) fn has_public_channel(&self) -> bool {
        self.joined().any(|(_, channel)| !channel.room.is_private)
    }

    fn joined(&self) -> impl Iterator<Item = (&str, &Channel)> {
        let slots = self.channels.iter();
        slots.filter_map(|(topic, slot)| Some((&**topic, slot.channel.as_ref()?)))
    }

    fn give_up_seat(&mut self) {
        if self.channels.is_empty() {
            self.seat = None;
        }
    }

    pub(super) fn say(&self, message: Message) {
        self.scene.outbox.push(message);
    }

    /// Answers a frame.
    pub(super) fn answer(&self, incoming: &Incoming, is_ok: bool, response: &str) {
        self.say(self.answer_to(incoming, is_ok, response));
    }

    pub(super) fn answer_to(&self, incoming: &Incoming, is_ok: bool, response: &str) -> Message {
        let refs = (incoming.join_ref.as_ref(), incoming.reference.as_ref());
        reply(self.scene.version, refs, &incoming.topic, is_ok, response)
    }

    fn refuse_unmatched(&self, incoming: &Incoming) {
        let reference = incoming.reference.as_ref();
        self.say(unmatched(self.scene.version, reference, &incoming.topic));
    }
}

/// The answer to whoever speaks on a topic that is none of theirs.
fn unmatched(version: crate::protocol::Version, reference: Option<&Ref>, topic: &str) -> Message {
    let response = r#"{"reason":"unmatched topic"}"#;
    reply(version, (None, reference), topic, false, response)
}

fn weight(incoming: &Incoming) -> usize {
    let payload = match &incoming.payload {
        Payload::Json(raw) => raw.get().len(),
        Payload::Broadcast(broadcast) => broadcast.body.len(),
        Payload::Bytes => 0,
    };
    payload + 128
}
