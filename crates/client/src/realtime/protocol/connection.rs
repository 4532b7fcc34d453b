//! The connection: opening, losing, and heartbeats (realtime contract §2.3).

use serde_json::json;

use super::{Action, ChannelState, LinkState, PHOENIX, Protocol, Reply};
use crate::realtime::event::Heartbeat;
use crate::realtime::frame::{Body, Content, Incoming, Outgoing};
use crate::realtime::queue::Queue;
use crate::realtime::{ConnectionState, RealtimeError};

impl Protocol {
    pub(in crate::realtime) fn state(&self) -> ConnectionState {
        match self.link {
            LinkState::Down => ConnectionState::Closed,
            LinkState::Waiting { .. } | LinkState::Connecting => ConnectionState::Connecting,
            LinkState::Open => ConnectionState::Open,
        }
    }

    /// A lost connection is reopened after its backoff, regardless of further calls.
    pub(in crate::realtime) fn connect(&mut self) {
        self.is_wanted = true;
        if self.link == LinkState::Down {
            self.dial();
        }
    }

    pub(in crate::realtime) fn disconnect(&mut self, now: i64) {
        self.is_wanted = false;
        match self.link {
            LinkState::Down => {}
            LinkState::Waiting { .. } => self.link = LinkState::Down,
            LinkState::Connecting | LinkState::Open => {
                let messages = std::mem::take(&mut self.actions);
                self.lost(now, "disconnected");
                // Queued leave messages are still sent.
                self.actions = messages;
                let is_message = |action: &&Action| matches!(action, Action::Send(_));
                self.queued_messages = self.actions.iter().filter(is_message).count();
                self.actions.push_back(Action::Close("disconnected"));
            }
        }
        self.failures = 0;
    }

    pub(in crate::realtime) fn opened(&mut self, now: i64) {
        if self.link != LinkState::Connecting {
            return;
        }
        self.link = LinkState::Open;
        self.failures = 0;
        self.heartbeat_due = now + self.timing.heartbeat_ms;
        self.channels
            .values_mut()
            .for_each(ChannelState::reset_failures);
        self.join_pending(now);
    }

    /// The connection was closed, or could not be opened.
    pub(in crate::realtime) fn lost(&mut self, now: i64, why: &str) {
        if matches!(self.link, LinkState::Down | LinkState::Waiting { .. }) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        self.link = if self.is_wanted {
            LinkState::Waiting {
                until: now + self.timing.backoff.wait_ms(self.failures),
            }
        } else {
            LinkState::Down
        };
        self.pending_heartbeat = None;
        self.actions
            .retain(|action| !matches!(action, Action::Send(_)));
        self.queued_messages = 0;
        self.notify_heartbeat(Heartbeat::Disconnected);
        let error = RealtimeError::Disconnected(why.to_owned());
        for call in std::mem::take(&mut self.pending_replies).into_values() {
            _ = call.waiter.send(Err(error.clone()));
        }
        for channel in self.channels.values_mut() {
            channel.connection_lost(&error);
        }
    }

    pub(super) fn dial(&mut self) {
        self.link = LinkState::Connecting;
        self.actions.push_back(Action::Connect);
        self.is_waiting_for_token = !self.has_custom_token;
        self.request_token();
    }

    pub(in crate::realtime) fn subscribe_to_heartbeats(&mut self, queue: Queue<Heartbeat>) {
        self.heartbeats.push(queue);
    }

    pub(super) fn heartbeat(&mut self, now: i64) {
        if self.pending_heartbeat.is_some() {
            self.notify_heartbeat(Heartbeat::TimedOut);
            self.lost(now, "heartbeat timeout");
            self.actions.push_back(Action::Close("heartbeat timeout"));
            return;
        }
        let reference = self.next_ref();
        self.pending_heartbeat = Some((reference.clone(), now));
        self.heartbeat_due = now + self.timing.heartbeat_ms;
        self.send(Outgoing {
            join_ref: None,
            reference,
            topic: PHOENIX.to_owned(),
            event: "heartbeat",
            payload: Body::Json(json!({})),
        });
        self.notify_heartbeat(Heartbeat::Sent);
        self.request_token();
    }

    pub(super) fn heartbeat_replied(&mut self, now: i64, message: &Incoming) {
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
        self.notify_heartbeat(if is_ok {
            Heartbeat::Ok { latency_ms }
        } else {
            Heartbeat::Error
        });
    }

    pub(super) fn notify_heartbeat(&mut self, heartbeat: Heartbeat) {
        self.heartbeats.retain(|queue| !queue.is_abandoned());
        for queue in &self.heartbeats {
            queue.push(heartbeat, 1);
        }
    }
}
