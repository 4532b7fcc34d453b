//! One channel: where it is between closed and joined, what its join says, and who listens.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Listener, Waiter, Wants};
use crate::realtime::changes::{Agreed, Wanted, WireChange};
use crate::realtime::event::{Broadcast, ChannelEvent, Status};
use crate::realtime::frame::{Body, Outgoing};
use crate::realtime::presence::{Book, PresenceEvent, PresenceState};
use crate::realtime::{RealtimeError, Replay};

/// What a status counts for in the queue of a slow reader.
const STATUS_BYTES: usize = 64;

/// What was chosen for a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::realtime) struct ChannelConfig {
    pub(in crate::realtime) is_private: bool,
    pub(in crate::realtime) hears_itself: bool,
    pub(in crate::realtime) wants_ack: bool,
    pub(in crate::realtime) replay: Option<Replay>,
    pub(in crate::realtime) presence_key: String,
    pub(in crate::realtime) has_presence: bool,
}

#[derive(Debug, PartialEq)]
enum Phase {
    New,
    /// `is_sent` once there was a connection to send the join over.
    Joining {
        is_sent: bool,
        deadline: i64,
    },
    Joined,
    /// Joins again then, or when there is a connection.
    Errored {
        rejoin_at: Option<i64>,
    },
}

/// An entry of the join's `postgres_changes`.
struct Binding {
    wanted: Wanted,
    /// By which the server names it.
    id: Option<Value>,
}

pub(in crate::realtime) struct Room {
    topic: String,
    config: ChannelConfig,
    phase: Phase,
    join_ref: Option<String>,
    failures: u32,
    bindings: Vec<Binding>,
    presence: Book,
    listeners: Vec<Listener>,
    waiters: Vec<Waiter>,
}

#[derive(Deserialize)]
struct JoinAnswer {
    postgres_changes: Option<Vec<Agreed>>,
}

impl Room {
    pub(super) fn new(topic: String, config: ChannelConfig) -> Self {
        Self {
            topic,
            config,
            phase: Phase::New,
            join_ref: None,
            failures: 0,
            bindings: Vec::new(),
            presence: Book::default(),
            listeners: Vec::new(),
            waiters: Vec::new(),
        }
    }

    pub(super) fn topic(&self) -> &str {
        &self.topic
    }

    pub(super) fn join_ref(&self) -> Option<&str> {
        self.join_ref.as_deref()
    }

    pub(super) fn presence(&self) -> &PresenceState {
        self.presence.state()
    }

    pub(in crate::realtime) fn is_joined(&self) -> bool {
        self.phase == Phase::Joined
    }

    pub(super) fn is_joining(&self) -> bool {
        matches!(self.phase, Phase::Joining { .. })
    }

    pub(super) fn is_joining_as(&self, reference: &str) -> bool {
        let is_sent = matches!(self.phase, Phase::Joining { is_sent: true, .. });
        is_sent && self.join_ref() == Some(reference)
    }

    pub(super) fn is_known_to_the_server(&self) -> bool {
        self.is_joined() || matches!(self.phase, Phase::Joining { is_sent: true, .. })
    }

    pub(super) fn waits_to_join(&self) -> bool {
        matches!(
            self.phase,
            Phase::Joining { is_sent: false, .. } | Phase::Errored { rejoin_at: None }
        )
    }

    /// When it is to be joined again, or was not answered in time.
    pub(super) fn deadline(&self) -> Option<i64> {
        match self.phase {
            Phase::Joining { deadline, .. } => Some(deadline),
            Phase::Errored { rejoin_at } => rejoin_at,
            Phase::New | Phase::Joined => None,
        }
    }

    // Before it is subscribed.

    pub(in crate::realtime) fn listen(&mut self, listener: Listener) -> Result<(), RealtimeError> {
        if listener.wants == Wants::Presence && !self.config.has_presence {
            self.must_be_new()?;
            self.config.has_presence = true;
        }
        self.listeners.push(listener);
        Ok(())
    }

    /// The number of the entry that asks for these changes. The same changes have the same.
    pub(in crate::realtime) fn bind(&mut self, wanted: Wanted) -> Result<usize, RealtimeError> {
        let mut known = self.bindings.iter();
        if let Some(index) = known.position(|binding| binding.wanted == wanted) {
            return Ok(index);
        }
        self.must_be_new()?;
        self.bindings.push(Binding { wanted, id: None });
        Ok(self.bindings.len() - 1)
    }

    fn must_be_new(&self) -> Result<(), RealtimeError> {
        match self.phase {
            Phase::New => Ok(()),
            _ => Err(RealtimeError::InvalidInput(
                "presence and row changes have to be asked for before the channel is subscribed",
            )),
        }
    }

    // Joining.

    pub(super) fn subscribe(&mut self, deadline: i64, waiter: Waiter) {
        match self.phase {
            Phase::Joined => {
                _ = waiter.send(Ok(()));
                return;
            }
            Phase::New => {
                self.phase = Phase::Joining {
                    is_sent: false,
                    deadline,
                };
            }
            Phase::Joining { .. } | Phase::Errored { .. } => {}
        }
        self.waiters.push(waiter);
    }

    pub(super) fn join(&mut self, reference: String, deadline: i64, token: &str) -> Outgoing {
        self.phase = Phase::Joining {
            is_sent: true,
            deadline,
        };
        self.join_ref = Some(reference.clone());
        self.presence.rejoin();
        Outgoing {
            join_ref: Some(reference.clone()),
            reference,
            topic: self.topic.clone(),
            event: "phx_join",
            payload: Body::Json(self.join_payload(token)),
        }
    }

    fn join_payload(&self, token: &str) -> Value {
        let config = &self.config;
        let mut broadcast = json!({ "ack": config.wants_ack, "self": config.hears_itself });
        if let Some(replay) = &config.replay {
            broadcast["replay"] = json!(replay);
        }
        let wanted: Vec<&Wanted> = self
            .bindings
            .iter()
            .map(|binding| &binding.wanted)
            .collect();
        json!({
            "config": {
                "broadcast": broadcast,
                "presence": { "key": config.presence_key, "enabled": config.has_presence },
                "postgres_changes": wanted,
                "private": config.is_private,
            },
            "access_token": token,
            "version": concat!("plinth-client/", env!("CARGO_PKG_VERSION")),
        })
    }

    /// The server has agreed, if it speaks of the same changes.
    pub(super) fn joined(&mut self, response: &Value) -> Result<(), RealtimeError> {
        let answer = JoinAnswer::deserialize(response);
        let agreed = answer.ok().and_then(|answer| answer.postgres_changes);
        if let Some(agreed) = agreed {
            for (index, binding) in self.bindings.iter_mut().enumerate() {
                let same = agreed
                    .get(index)
                    .filter(|agreed| binding.wanted.is_same(agreed));
                let same = same.ok_or(RealtimeError::BindingMismatch)?;
                binding.id = Some(same.id.clone());
            }
        }
        self.phase = Phase::Joined;
        self.failures = 0;
        self.tell(ChannelEvent::Status(Status::Subscribed), STATUS_BYTES);
        self.settle(&Ok(()));
        Ok(())
    }

    // Failing.

    /// Joins again when it is time to; `retry` says when that is after so many failures.
    pub(super) fn fail(&mut self, error: &RealtimeError, retry: Option<&dyn Fn(u32) -> i64>) {
        if self.phase == Phase::New {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let rejoin_at = retry.map(|retry| retry(self.failures));
        self.phase = Phase::Errored { rejoin_at };
        let status = match error {
            RealtimeError::TimedOut => Status::TimedOut,
            error => Status::Error(error.clone()),
        };
        self.tell(ChannelEvent::Status(status), STATUS_BYTES);
        self.settle(&Err(error.clone()));
    }

    /// There is no connection any more.
    pub(super) fn lose(&mut self, error: &RealtimeError) {
        match self.phase {
            Phase::Joining { .. } | Phase::Joined => self.fail(error, None),
            Phase::New | Phase::Errored { .. } => {}
        }
    }

    /// There is a connection again.
    pub(super) fn forget_failures(&mut self) {
        self.failures = 0;
        self.rejoin();
    }

    /// Joins as soon as it can.
    pub(super) fn rejoin(&mut self) {
        if let Phase::Errored { rejoin_at } = &mut self.phase {
            *rejoin_at = None;
        }
    }

    /// It is over.
    pub(super) fn close(mut self) {
        if self.phase != Phase::New {
            self.tell(ChannelEvent::Status(Status::Closed), STATUS_BYTES);
        }
        self.settle(&Err(RealtimeError::Closed));
        for listener in &self.listeners {
            listener.queue.end();
        }
    }

    fn settle(&mut self, result: &Result<(), RealtimeError>) {
        for waiter in self.waiters.drain(..) {
            _ = waiter.send(result.clone());
        }
    }

    // Listening.

    pub(super) fn hear(&mut self, broadcast: Broadcast, bytes: usize) {
        self.tell(ChannelEvent::Broadcast(broadcast), bytes);
    }

    /// Any other event. What cannot be read is skipped.
    pub(super) fn told(&mut self, name: &str, payload: &[u8], bytes: usize) {
        match name {
            "presence_state" => {
                let (Some(join_ref), Ok(state)) =
                    (self.join_ref.clone(), serde_json::from_slice(payload))
                else {
                    return;
                };
                let events = self.presence.replace(&join_ref, state);
                self.tell_presence(events, bytes);
            }
            "presence_diff" => {
                let (Some(join_ref), Ok(diff)) =
                    (self.join_ref.clone(), serde_json::from_slice(payload))
                else {
                    return;
                };
                // Public channels hear of everybody who comes, also those that never asked and so
                // never get the picture that the differences belong to.
                if !self.config.has_presence && !self.presence.is_of(&join_ref) {
                    return;
                }
                let events = self.presence.change(&join_ref, diff);
                self.tell_presence(events, bytes);
            }
            "postgres_changes" => {
                if let Ok(change) = serde_json::from_slice(payload) {
                    self.changed(change, bytes);
                }
            }
            "system" => {
                if let Ok(system) = serde_json::from_slice(payload) {
                    self.tell(ChannelEvent::System(system), bytes);
                }
            }
            _ => {}
        }
    }

    fn tell_presence(&mut self, events: Vec<PresenceEvent>, bytes: usize) {
        let each = bytes / events.len().max(1);
        for event in events {
            self.tell(ChannelEvent::Presence(event), each);
        }
    }

    fn changed(&mut self, change: WireChange, bytes: usize) {
        let is_meant = |binding: &Binding| {
            let id = binding.id.as_ref();
            id.is_some_and(|id| change.ids.contains(id))
                && binding.wanted.event.covers(change.kind())
        };
        let meant: Vec<bool> = self.bindings.iter().map(is_meant).collect();
        if !meant.contains(&true) {
            return;
        }
        let event = ChannelEvent::Change(change.into_change());
        self.tell_those(&event, bytes, |wants| match wants {
            Wants::Everything => true,
            Wants::Changes(index) => meant.get(*index).copied().unwrap_or_default(),
            _ => false,
        });
    }

    fn tell(&mut self, event: ChannelEvent, bytes: usize) {
        self.tell_those(&event, bytes, |wants| wants.covers(&event));
    }

    /// Whoever has left is forgotten on the way.
    fn tell_those(
        &mut self,
        event: &ChannelEvent,
        bytes: usize,
        is_meant: impl Fn(&Wants) -> bool,
    ) {
        self.listeners.retain(|listener| {
            let is_there = !listener.queue.is_abandoned();
            if is_there && is_meant(&listener.wants) {
                listener.queue.push(event.clone(), bytes);
            }
            is_there
        });
    }
}
