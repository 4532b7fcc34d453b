//! A client's side of the conversation with the server (realtime contract §2.3, §4, §5): when to
//! connect, to join, to join again, and what to make of every message.
//!
//! It speaks no network and knows no clock: it is told what happened and when, says what is to be
//! done ([`Order`]) and when to be asked again ([`Conversation::deadline`]).

mod channels;
mod connection;
mod listener;
mod room;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;

use super::RealtimeError;
use super::event::Heartbeat;
use super::frame::{Content, Incoming, Outgoing};
use super::ladder::Ladder;
use super::queue::Queue;
use crate::auth::AuthError;
use channels::reason;
pub(super) use listener::{Listener, Wants};
pub(super) use room::{ChannelConfig, Room};

/// Most messages that wait for the connection to take them; senders wait beyond that.
const MAX_WAITING_MESSAGES: usize = 64;
/// The topic of the connection itself.
const PHOENIX: &str = "phoenix";

/// What the conversation goes by.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) heartbeat_ms: i64,
    pub(super) timeout_ms: i64,
    pub(super) idle_ms: i64,
    pub(super) ladder: Ladder,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub(super) enum Order {
    Connect,
    Send(Outgoing),
    /// Ends the connection, or the attempt at one, once everything before is sent.
    Close(&'static str),
    /// Asks whose token is to be used now.
    AskToken,
}

/// Is told what came of something.
pub(super) type Waiter = oneshot::Sender<Result<(), RealtimeError>>;
pub(super) type RoomId = u64;

#[derive(Debug, PartialEq)]
enum Link {
    Down,
    /// Lost; will be tried again then.
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

/// A message that waits for its answer.
struct Call {
    room: RoomId,
    deadline: i64,
    waiter: Waiter,
}

#[derive(Deserialize)]
struct Reply {
    status: String,
    #[serde(default)]
    response: Value,
}

pub(super) struct Conversation {
    rules: Rules,
    link: Link,
    /// Whether a lost connection is to be made anew.
    is_wanted: bool,
    failures: u32,
    last_ref: u64,
    last_room: RoomId,
    heartbeat_due: i64,
    /// The heartbeat that waits for its answer, and when it was sent.
    pending_heartbeat: Option<(String, i64)>,
    idle_at: Option<i64>,
    token: Token,
    /// Joins wait for a token that was asked for when the connection was made.
    awaits_token: bool,
    /// The caller has set the token; nobody is asked.
    is_token_fixed: bool,
    rooms: BTreeMap<RoomId, Room>,
    calls: BTreeMap<String, Call>,
    orders: VecDeque<Order>,
    waiting_messages: usize,
    heartbeats: Vec<Queue<Heartbeat>>,
}

impl Conversation {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            link: Link::Down,
            is_wanted: false,
            failures: 0,
            last_ref: 0,
            last_room: 0,
            heartbeat_due: i64::MAX,
            pending_heartbeat: None,
            idle_at: None,
            token: Token::Unknown,
            awaits_token: false,
            is_token_fixed: false,
            rooms: BTreeMap::new(),
            calls: BTreeMap::new(),
            orders: VecDeque::new(),
            waiting_messages: 0,
            heartbeats: Vec::new(),
        }
    }

    pub(super) fn next_order(&mut self) -> Option<Order> {
        let order = self.orders.pop_front()?;
        if matches!(order, Order::Send(_)) {
            self.waiting_messages -= 1;
        }
        Some(order)
    }

    pub(super) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// Whether the connection is to be ended, once everything before is said.
    pub(super) fn is_ending(&self) -> bool {
        let mut orders = self.orders.iter();
        orders.any(|order| matches!(order, Order::Close(_)))
    }

    /// Whether the next message would be taken at once.
    pub(super) fn has_capacity(&self) -> bool {
        self.waiting_messages < MAX_WAITING_MESSAGES
    }

    /// When [`Conversation::time`] has something to do.
    pub(super) fn deadline(&self) -> Option<i64> {
        let link = match self.link {
            Link::Waiting { until } => Some(until),
            Link::Open => Some(self.heartbeat_due),
            Link::Down | Link::Connecting => None,
        };
        let calls = self.calls.values().map(|call| call.deadline);
        let rooms = self.rooms.values().filter_map(Room::deadline);
        link.into_iter()
            .chain(self.idle_at)
            .chain(calls)
            .chain(rooms)
            .min()
    }

    /// Does what is due.
    pub(super) fn time(&mut self, now: i64) {
        if matches!(self.link, Link::Waiting { until } if until <= now) {
            self.dial();
        }
        if self.link == Link::Open && self.heartbeat_due <= now {
            self.heartbeat(now);
        }
        if self.idle_at.is_some_and(|at| at <= now) {
            self.idle_at = None;
            if self.rooms.is_empty() {
                self.disconnect(now);
            }
        }
        let late = |call: &Call| call.deadline <= now;
        let references = self.calls.iter().filter(|(_, call)| late(call));
        let references: Vec<String> = references.map(|(name, _)| name.clone()).collect();
        for call in references.iter().filter_map(|name| self.calls.remove(name)) {
            _ = call.waiter.send(Err(RealtimeError::TimedOut));
        }
        let due = self.rooms.iter().filter_map(|(id, room)| {
            let is_due = room.deadline().is_some_and(|at| at <= now);
            is_due.then_some(*id)
        });
        for id in due.collect::<Vec<_>>() {
            self.room_is_due(now, id);
        }
    }

    pub(super) fn received(&mut self, now: i64, message: Incoming) {
        if message.topic == PHOENIX {
            return self.heartbeat_answered(now, &message);
        }
        let found = self
            .rooms
            .iter()
            .find(|(_, room)| room.topic() == message.topic);
        let Some(id) = found.map(|(id, _)| *id) else {
            return;
        };
        let Some(room) = self.rooms.get_mut(&id) else {
            return;
        };
        // What belongs to an earlier join is over.
        if message.join_ref.is_some() && message.join_ref.as_deref() != room.join_ref() {
            return;
        }
        let (name, payload) = match message.content {
            Content::Broadcast(broadcast) => return room.hear(broadcast, message.bytes),
            Content::Event { name, payload } => (name, payload),
        };
        match name.as_str() {
            "phx_reply" => self.replied(now, id, message.reference.as_deref(), &payload),
            "phx_close" | "phx_error" => {
                // The first version names the join here.
                let reference = message.reference.as_deref();
                if reference.is_some() && reference != room.join_ref() {
                    return;
                }
                match name == "phx_close" {
                    true => self.forget(now, id),
                    false => {
                        let why = serde_json::from_slice(&payload).unwrap_or_default();
                        let error = RealtimeError::Refused(reason(&why));
                        self.room_failed(now, id, error);
                    }
                }
            }
            name => room.told(name, &payload, message.bytes),
        }
    }

    fn send(&mut self, message: Outgoing) {
        self.waiting_messages += 1;
        self.orders.push_back(Order::Send(message));
    }

    fn next_ref(&mut self) -> String {
        self.last_ref += 1;
        self.last_ref.to_string()
    }
}
