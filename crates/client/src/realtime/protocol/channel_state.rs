//! State of one channel: its phase, its join message and its subscribers.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{EventFilter, Subscriber, Waiter};
use crate::realtime::changes::{BindingRequest, ConfirmedBinding, WireChange};
use crate::realtime::event::{Broadcast, ChannelEvent, Status};
use crate::realtime::frame::{Body, Outgoing};
use crate::realtime::presence::{PresenceEvent, PresenceState, PresenceTracker};
use crate::realtime::{RealtimeError, Replay};

/// Size of a status event in a reader's queue.
const STATUS_BYTES: usize = 64;

/// Configuration of a channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::realtime) struct ChannelConfig {
    pub(in crate::realtime) is_private: bool,
    pub(in crate::realtime) receives_own: bool,
    pub(in crate::realtime) wants_ack: bool,
    pub(in crate::realtime) replay: Option<Replay>,
    pub(in crate::realtime) presence_key: String,
    pub(in crate::realtime) has_presence: bool,
}

#[derive(Debug, PartialEq)]
enum Phase {
    New,
    /// `is_sent` once the join was sent over a connection.
    Joining {
        is_sent: bool,
        deadline: i64,
    },
    Joined,
    /// Rejoins at this time, or when there is a connection.
    Errored {
        rejoin_at: Option<i64>,
    },
}

/// An entry of the join's `postgres_changes`.
struct Binding {
    request: BindingRequest,
    /// Assigned by the server.
    id: Option<Value>,
}

pub(in crate::realtime) struct ChannelState {
    topic: String,
    config: ChannelConfig,
    phase: Phase,
    join_ref: Option<String>,
    failures: u32,
    bindings: Vec<Binding>,
    presence: PresenceTracker,
    subscribers: Vec<Subscriber>,
    waiters: Vec<Waiter>,
}

#[derive(Deserialize)]
struct JoinResponse {
    postgres_changes: Option<Vec<ConfirmedBinding>>,
}

impl ChannelState {
    pub(super) fn new(topic: String, config: ChannelConfig) -> Self {
        Self {
            topic,
            config,
            phase: Phase::New,
            join_ref: None,
            failures: 0,
            bindings: Vec::new(),
            presence: PresenceTracker::default(),
            subscribers: Vec::new(),
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

    pub(super) fn is_join_sent(&self) -> bool {
        self.is_joined() || matches!(self.phase, Phase::Joining { is_sent: true, .. })
    }

    pub(super) fn is_join_pending(&self) -> bool {
        matches!(
            self.phase,
            Phase::Joining { is_sent: false, .. } | Phase::Errored { rejoin_at: None }
        )
    }

    /// When to rejoin, or when the join times out.
    pub(super) fn deadline(&self) -> Option<i64> {
        match self.phase {
            Phase::Joining { deadline, .. } => Some(deadline),
            Phase::Errored { rejoin_at } => rejoin_at,
            Phase::New | Phase::Joined => None,
        }
    }

    // Before it is subscribed.

    pub(in crate::realtime) fn listen(
        &mut self,
        subscriber: Subscriber,
    ) -> Result<(), RealtimeError> {
        if subscriber.filter == EventFilter::Presence && !self.config.has_presence {
            self.ensure_new()?;
            self.config.has_presence = true;
        }
        self.subscribers.push(subscriber);
        Ok(())
    }

    /// The index of the entry for these changes; equal requests share one.
    pub(in crate::realtime) fn bind(
        &mut self,
        request: BindingRequest,
    ) -> Result<usize, RealtimeError> {
        let mut known = self.bindings.iter();
        if let Some(index) = known.position(|binding| binding.request == request) {
            return Ok(index);
        }
        self.ensure_new()?;
        self.bindings.push(Binding { request, id: None });
        Ok(self.bindings.len() - 1)
    }

    fn ensure_new(&self) -> Result<(), RealtimeError> {
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
        let mut broadcast = json!({ "ack": config.wants_ack, "self": config.receives_own });
        if let Some(replay) = &config.replay {
            broadcast["replay"] = json!(replay);
        }
        let request: Vec<&BindingRequest> = self
            .bindings
            .iter()
            .map(|binding| &binding.request)
            .collect();
        json!({
            "config": {
                "broadcast": broadcast,
                "presence": { "key": config.presence_key, "enabled": config.has_presence },
                "postgres_changes": request,
                "private": config.is_private,
            },
            "access_token": token,
            "version": concat!("plinth-client/", env!("CARGO_PKG_VERSION")),
        })
    }

    /// Handles a successful join; fails if the server confirmed other row changes.
    pub(super) fn joined(&mut self, response: &Value) -> Result<(), RealtimeError> {
        let joined = JoinResponse::deserialize(response);
        let confirmed = joined.ok().and_then(|joined| joined.postgres_changes);
        if let Some(confirmed) = confirmed {
            for (index, binding) in self.bindings.iter_mut().enumerate() {
                let same = confirmed
                    .get(index)
                    .filter(|confirmed| binding.request.is_same(confirmed));
                let same = same.ok_or(RealtimeError::BindingMismatch)?;
                binding.id = Some(same.id.clone());
            }
        }
        self.phase = Phase::Joined;
        self.failures = 0;
        self.notify(ChannelEvent::Status(Status::Subscribed), STATUS_BYTES);
        self.resolve_waiters(&Ok(()));
        Ok(())
    }

    // Failing.

    /// Schedules a rejoin; `retry` maps the number of failures to its time.
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
        self.notify(ChannelEvent::Status(status), STATUS_BYTES);
        self.resolve_waiters(&Err(error.clone()));
    }

    /// The connection was lost.
    pub(super) fn connection_lost(&mut self, error: &RealtimeError) {
        match self.phase {
            Phase::Joining { .. } | Phase::Joined => self.fail(error, None),
            Phase::New | Phase::Errored { .. } => {}
        }
    }

    /// The connection was restored.
    pub(super) fn reset_failures(&mut self) {
        self.failures = 0;
        self.rejoin();
    }

    /// Rejoins as soon as possible.
    pub(super) fn rejoin(&mut self) {
        if let Phase::Errored { rejoin_at } = &mut self.phase {
            *rejoin_at = None;
        }
    }

    /// Closes the channel.
    pub(super) fn close(mut self) {
        if self.phase != Phase::New {
            self.notify(ChannelEvent::Status(Status::Closed), STATUS_BYTES);
        }
        self.resolve_waiters(&Err(RealtimeError::Closed));
        for subscriber in &self.subscribers {
            subscriber.queue.end();
        }
    }

    fn resolve_waiters(&mut self, result: &Result<(), RealtimeError>) {
        for waiter in self.waiters.drain(..) {
            _ = waiter.send(result.clone());
        }
    }

    // Events.

    pub(super) fn deliver_broadcast(&mut self, broadcast: Broadcast, bytes: usize) {
        self.notify(ChannelEvent::Broadcast(broadcast), bytes);
    }

    /// Any other event. Unreadable payloads are skipped.
    pub(super) fn handle_event(&mut self, name: &str, payload: &[u8], bytes: usize) {
        match name {
            "presence_state" => {
                let (Some(join_ref), Ok(state)) =
                    (self.join_ref.clone(), serde_json::from_slice(payload))
                else {
                    return;
                };
                let events = self.presence.replace(&join_ref, state);
                self.notify_presence(events, bytes);
            }
            "presence_diff" => {
                let (Some(join_ref), Ok(diff)) =
                    (self.join_ref.clone(), serde_json::from_slice(payload))
                else {
                    return;
                };
                // Public channels receive presence diffs even if they did not enable presence, but no initial
                // state that the diffs would apply to.
                if !self.config.has_presence && !self.presence.is_of(&join_ref) {
                    return;
                }
                let events = self.presence.change(&join_ref, diff);
                self.notify_presence(events, bytes);
            }
            "postgres_changes" => {
                if let Ok(change) = serde_json::from_slice(payload) {
                    self.changed(change, bytes);
                }
            }
            "system" => {
                if let Ok(system) = serde_json::from_slice(payload) {
                    self.notify(ChannelEvent::System(system), bytes);
                }
            }
            _ => {}
        }
    }

    fn notify_presence(&mut self, events: Vec<PresenceEvent>, bytes: usize) {
        let each = bytes / events.len().max(1);
        for event in events {
            self.notify(ChannelEvent::Presence(event), each);
        }
    }

    fn changed(&mut self, change: WireChange, bytes: usize) {
        let is_match = |binding: &Binding| {
            let id = binding.id.as_ref();
            id.is_some_and(|id| change.ids.contains(id))
                && binding.request.event.covers(change.kind())
        };
        let meant: Vec<bool> = self.bindings.iter().map(is_match).collect();
        if !meant.contains(&true) {
            return;
        }
        let event = ChannelEvent::Change(change.into_change());
        self.notify_matching(&event, bytes, |filter| match filter {
            EventFilter::Everything => true,
            EventFilter::Changes(index) => meant.get(*index).copied().unwrap_or_default(),
            _ => false,
        });
    }

    fn notify(&mut self, event: ChannelEvent, bytes: usize) {
        self.notify_matching(&event, bytes, |filter| filter.covers(&event));
    }

    /// Also removes subscribers that are gone.
    fn notify_matching(
        &mut self,
        event: &ChannelEvent,
        bytes: usize,
        is_match: impl Fn(&EventFilter) -> bool,
    ) {
        self.subscribers.retain(|subscriber| {
            let is_there = !subscriber.queue.is_abandoned();
            if is_there && is_match(&subscriber.filter) {
                subscriber.queue.push(event.clone(), bytes);
            }
            is_there
        });
    }
}
