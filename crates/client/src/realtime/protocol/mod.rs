//! State machine of the client side of the realtime protocol (realtime contract §2.3, §4, §5): when to
//! connect, join and rejoin, and how to handle each message.
//!
//! It has no I/O and no clock: it receives inputs with the current time, returns what to do ([`Action`])
//! and when its next timer fires ([`Protocol::deadline`]).

mod channel_state;
mod channels;
mod connection;
mod subscriber;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;

use super::RealtimeError;
use super::backoff::Backoff;
use super::event::Heartbeat;
use super::frame::{Content, Incoming, Outgoing};
use super::queue::Queue;
use crate::auth::AuthError;
pub(super) use channel_state::{ChannelConfig, ChannelState};
use channels::reason;
pub(super) use subscriber::{EventFilter, Subscriber};

/// Maximum number of messages queued for the connection; senders wait beyond that.
const MAX_QUEUED_MESSAGES: usize = 64;
/// The topic of the connection itself.
const PHOENIX: &str = "phoenix";

/// Intervals and timeouts.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub(super) heartbeat_ms: i64,
    pub(super) timeout_ms: i64,
    pub(super) idle_ms: i64,
    pub(super) backoff: Backoff,
}

/// What the driver has to do.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    Connect,
    Send(Outgoing),
    /// Closes the connection, or cancels connecting, after all earlier messages are sent.
    Close(&'static str),
    /// Fetches the current access token.
    FetchToken,
}

/// Receives the result of an operation.
pub(super) type Waiter = oneshot::Sender<Result<(), RealtimeError>>;
pub(super) type ChannelId = u64;

#[derive(Debug, PartialEq)]
enum LinkState {
    Down,
    /// Lost; reconnects at this time.
    Waiting {
        until: i64,
    },
    Connecting,
    Open,
}

enum Token {
    Unknown,
    Known(String),
    Failed(AuthError),
}

/// A message waiting for its reply.
struct PendingReply {
    channel: ChannelId,
    deadline: i64,
    waiter: Waiter,
}

#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    response: Value,
}

pub(super) struct Protocol {
    timing: Timing,
    link: LinkState,
    /// Whether to reconnect.
    is_wanted: bool,
    failures: u32,
    last_ref: u64,
    last_channel: ChannelId,
    heartbeat_due: i64,
    /// The heartbeat waiting for its reply, and when it was sent.
    pending_heartbeat: Option<(String, i64)>,
    idle_at: Option<i64>,
    token: Token,
    /// Joins wait for the token that was requested when connecting.
    is_waiting_for_token: bool,
    /// The token was set by the caller and is not fetched.
    has_custom_token: bool,
    channels: BTreeMap<ChannelId, ChannelState>,
    pending_replies: BTreeMap<String, PendingReply>,
    actions: VecDeque<Action>,
    queued_messages: usize,
    heartbeats: Vec<Queue<Heartbeat>>,
}

impl Protocol {
    pub(super) fn new(timing: Timing) -> Self {
        Self {
            timing,
            link: LinkState::Down,
            is_wanted: false,
            failures: 0,
            last_ref: 0,
            last_channel: 0,
            heartbeat_due: i64::MAX,
            pending_heartbeat: None,
            idle_at: None,
            token: Token::Unknown,
            is_waiting_for_token: false,
            has_custom_token: false,
            channels: BTreeMap::new(),
            pending_replies: BTreeMap::new(),
            actions: VecDeque::new(),
            queued_messages: 0,
            heartbeats: Vec::new(),
        }
    }

    pub(super) fn next_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front()?;
        if matches!(action, Action::Send(_)) {
            self.queued_messages -= 1;
        }
        Some(action)
    }

    pub(super) fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Whether a close is queued.
    pub(super) fn is_closing(&self) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|action| matches!(action, Action::Close(_)))
    }

    /// Whether the next message would be queued without waiting.
    pub(super) fn has_capacity(&self) -> bool {
        self.queued_messages < MAX_QUEUED_MESSAGES
    }

    /// When [`Protocol::handle_timers`] has to be called.
    pub(super) fn deadline(&self) -> Option<i64> {
        let link = match self.link {
            LinkState::Waiting { until } => Some(until),
            LinkState::Open => Some(self.heartbeat_due),
            LinkState::Down | LinkState::Connecting => None,
        };
        let pending_replies = self.pending_replies.values().map(|call| call.deadline);
        let channels = self.channels.values().filter_map(ChannelState::deadline);
        link.into_iter()
            .chain(self.idle_at)
            .chain(pending_replies)
            .chain(channels)
            .min()
    }

    /// Handles all timers that are due.
    pub(super) fn handle_timers(&mut self, now: i64) {
        if matches!(self.link, LinkState::Waiting { until } if until <= now) {
            self.dial();
        }
        if self.link == LinkState::Open && self.heartbeat_due <= now {
            self.heartbeat(now);
        }
        if self.idle_at.is_some_and(|at| at <= now) {
            self.idle_at = None;
            if self.channels.is_empty() {
                self.disconnect(now);
            }
        }
        let late = |call: &PendingReply| call.deadline <= now;
        let references = self.pending_replies.iter().filter(|(_, call)| late(call));
        let references: Vec<String> = references.map(|(name, _)| name.clone()).collect();
        for call in references
            .iter()
            .filter_map(|name| self.pending_replies.remove(name))
        {
            _ = call.waiter.send(Err(RealtimeError::TimedOut));
        }
        let due = self.channels.iter().filter_map(|(id, channel)| {
            let is_due = channel.deadline().is_some_and(|at| at <= now);
            is_due.then_some(*id)
        });
        for id in due.collect::<Vec<_>>() {
            self.handle_channel_deadline(now, id);
        }
    }

    pub(super) fn received(&mut self, now: i64, message: Incoming) {
        if message.topic == PHOENIX {
            return self.heartbeat_replied(now, &message);
        }
        let found = self
            .channels
            .iter()
            .find(|(_, channel)| channel.topic() == message.topic);
        let Some(id) = found.map(|(id, _)| *id) else {
            return;
        };
        let Some(channel) = self.channels.get_mut(&id) else {
            return;
        };
        // Ignore messages of an earlier join.
        if message.join_ref.is_some() && message.join_ref.as_deref() != channel.join_ref() {
            return;
        }
        let (name, payload) = match message.content {
            Content::Broadcast(broadcast) => {
                return channel.deliver_broadcast(broadcast, message.bytes);
            }
            Content::Event { name, payload } => (name, payload),
        };
        match name.as_str() {
            "phx_reply" => self.handle_reply(now, id, message.reference.as_deref(), &payload),
            "phx_close" | "phx_error" => {
                // Version 1 has the join reference here.
                let reference = message.reference.as_deref();
                if reference.is_some() && reference != channel.join_ref() {
                    return;
                }
                if name == "phx_close" {
                    self.remove_channel(now, id);
                } else {
                    let why = serde_json::from_slice(&payload).unwrap_or_default();
                    let error = RealtimeError::Rejected(reason(&why));
                    self.channel_failed(now, id, error);
                }
            }
            name => channel.handle_event(name, &payload, message.bytes),
        }
    }

    fn send(&mut self, message: Outgoing) {
        self.queued_messages += 1;
        self.actions.push_back(Action::Send(message));
    }

    fn next_ref(&mut self) -> String {
        self.last_ref += 1;
        self.last_ref.to_string()
    }
}
