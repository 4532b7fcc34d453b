//! The connection: making it, losing it, and noticing that it is gone (realtime contract §2.3).

use serde_json::json;

use super::{Conversation, Link, Order, PHOENIX, Reply, Room};
use crate::realtime::event::Heartbeat;
use crate::realtime::frame::{Body, Content, Incoming, Outgoing};
use crate::realtime::queue::Queue;
use crate::realtime::{ConnectionState, RealtimeError};

impl Conversation {
    pub(in crate::realtime) fn state(&self) -> ConnectionState {
        match self.link {
            Link::Down => ConnectionState::Closed,
            Link::Waiting { .. } | Link::Connecting => ConnectionState::Connecting,
            Link::Open => ConnectionState::Open,
        }
    }

    /// One that was lost is made anew in its time, however many ask for it.
    pub(in crate::realtime) fn connect(&mut self) {
        self.is_wanted = true;
        if self.link == Link::Down {
            self.dial();
        }
    }

    pub(in crate::realtime) fn disconnect(&mut self, now: i64) {
        self.is_wanted = false;
        match self.link {
            Link::Down => {}
            Link::Waiting { .. } => self.link = Link::Down,
            Link::Connecting | Link::Open => {
                let messages = std::mem::take(&mut self.orders);
                self.lost(now, "disconnected");
                // Goodbyes are still said.
                self.orders = messages;
                let is_message = |order: &&Order| matches!(order, Order::Send(_));
                self.waiting_messages = self.orders.iter().filter(is_message).count();
                self.orders.push_back(Order::Close("disconnected"));
            }
        }
        self.failures = 0;
    }

    pub(in crate::realtime) fn opened(&mut self, now: i64) {
        if self.link != Link::Connecting {
            return;
        }
        self.link = Link::Open;
        self.failures = 0;
        self.heartbeat_due = now + self.rules.heartbeat_ms;
        self.rooms.values_mut().for_each(Room::forget_failures);
        self.join_waiting(now);
    }

    /// The connection ended, or could not be made.
    pub(in crate::realtime) fn lost(&mut self, now: i64, why: &str) {
        if matches!(self.link, Link::Down | Link::Waiting { .. }) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        self.link = match self.is_wanted {
            true => Link::Waiting {
                until: now + self.rules.ladder.wait_ms(self.failures),
            },
            false => Link::Down,
        };
        self.pending_heartbeat = None;
        self.orders.retain(|order| !matches!(order, Order::Send(_)));
        self.waiting_messages = 0;
        self.tell_heartbeat(Heartbeat::Disconnected);
        let error = RealtimeError::Disconnected(why.to_owned());
        for call in std::mem::take(&mut self.calls).into_values() {
            _ = call.waiter.send(Err(error.clone()));
        }
        for room in self.rooms.values_mut() {
            room.lose(&error);
        }
    }

    pub(super) fn dial(&mut self) {
        self.link = Link::Connecting;
        self.orders.push_back(Order::Connect);
        self.awaits_token = !self.is_token_fixed;
        self.ask_token();
    }

    pub(in crate::realtime) fn listen_to_heartbeats(&mut self, queue: Queue<Heartbeat>) {
        self.heartbeats.push(queue);
    }

    pub(super) fn heartbeat(&mut self, now: i64) {
        if self.pending_heartbeat.is_some() {
            self.tell_heartbeat(Heartbeat::TimedOut);
            self.lost(now, "heartbeat timeout");
            self.orders.push_back(Order::Close("heartbeat timeout"));
            return;
        }
        let reference = self.next_ref();
        self.pending_heartbeat = Some((reference.clone(), now));
        self.heartbeat_due = now + self.rules.heartbeat_ms;
        self.send(Outgoing {
            join_ref: None,
            reference,
            topic: PHOENIX.to_owned(),
            event: "heartbeat",
            payload: Body::Json(json!({})),
        });
        self.tell_heartbeat(Heartbeat::Sent);
        self.ask_token();
    }

    pub(super) fn heartbeat_answered(&mut self, now: i64, message: &Incoming) {
        let Some((reference, sent_at)) = &self.pending_heartbeat else {
            return;
        };
        if message.reference.as_deref() != Some(reference) {
            return;
        }
        let latency_ms = u64::try_from(now - sent_at).unwrap_or_default();
        let is_ok = match &message.content {
            Content::Event { payload, .. } => {
                serde_json::from_slice::<Reply>(payload).is_ok_and(|reply| reply.status == "ok")
            }
            Content::Broadcast(_) => false,
        };
        self.pending_heartbeat = None;
        self.tell_heartbeat(match is_ok {
            true => Heartbeat::Ok { latency_ms },
            false => Heartbeat::Error,
        });
    }

    pub(super) fn tell_heartbeat(&mut self, heartbeat: Heartbeat) {
        self.heartbeats.retain(|queue| !queue.is_abandoned());
        for queue in &self.heartbeats {
            queue.push(heartbeat, 1);
        }
    }
}
