//! Channels: joining, leaving, and pending replies (realtime contract §4, §5).

use serde_json::{Value, json};

use super::{
    ChannelConfig, ChannelId, ChannelState, LinkState, PendingReply, Protocol, Reply, Token, Waiter,
};
use crate::realtime::RealtimeError;
use crate::realtime::frame::{Body, Outgoing};
use crate::realtime::presence::PresenceState;

impl Protocol {
    pub(in crate::realtime) fn add_channel(
        &mut self,
        topic: String,
        config: ChannelConfig,
    ) -> ChannelId {
        self.last_channel += 1;
        self.idle_at = None;
        self.channels
            .insert(self.last_channel, ChannelState::new(topic, config));
        self.last_channel
    }

    pub(in crate::realtime) fn channel(&mut self, id: ChannelId) -> Option<&mut ChannelState> {
        self.channels.get_mut(&id)
    }

    pub(in crate::realtime) fn presence(&self, id: ChannelId) -> PresenceState {
        let channel = self.channels.get(&id);
        channel
            .map(|channel| channel.presence().clone())
            .unwrap_or_default()
    }

    pub(in crate::realtime) fn subscribe(&mut self, now: i64, id: ChannelId, waiter: Waiter) {
        let Some(channel) = self.channels.get_mut(&id) else {
            _ = waiter.send(Err(RealtimeError::Closed));
            return;
        };
        channel.subscribe(now + self.timing.timeout_ms, waiter);
        self.connect();
        self.join_pending(now);
    }

    /// Leaves a channel, without waiting for the reply.
    pub(in crate::realtime) fn leave(&mut self, now: i64, id: ChannelId) {
        self.send_leave(id);
        self.remove_channel(now, id);
    }

    /// Sends over a joined channel. Without a waiter the reply is ignored.
    pub(in crate::realtime) fn push(
        &mut self,
        now: i64,
        id: ChannelId,
        event: &'static str,
        payload: Body,
        waiter: Option<Waiter>,
    ) -> Result<(), RealtimeError> {
        let channel = self.channels.get(&id).ok_or(RealtimeError::Closed)?;
        if !channel.is_joined() || self.link != LinkState::Open {
            return Err(RealtimeError::NotSubscribed);
        }
        let (join_ref, topic) = (
            channel.join_ref().map(str::to_owned),
            channel.topic().to_owned(),
        );
        let reference = self.next_ref();
        if let Some(waiter) = waiter {
            let call = PendingReply {
                channel: id,
                deadline: now + self.timing.timeout_ms,
                waiter,
            };
            self.pending_replies.insert(reference.clone(), call);
        }
        self.send(Outgoing {
            join_ref,
            reference,
            topic,
            event,
            payload,
        });
        Ok(())
    }

    /// Sends the joins that are waiting for a connection and a token.
    pub(super) fn join_pending(&mut self, now: i64) {
        if self.link != LinkState::Open || self.is_waiting_for_token {
            return;
        }
        let waiting = self
            .channels
            .iter()
            .filter(|(_, channel)| channel.is_join_pending());
        let waiting: Vec<ChannelId> = waiting.map(|(id, _)| *id).collect();
        if waiting.is_empty() {
            return;
        }
        match &self.token {
            Token::Known(token) => {
                let token = token.clone();
                for id in waiting {
                    self.join(now, id, &token);
                }
            }
            Token::Failed(error) => {
                let error = RealtimeError::Auth(error.clone());
                self.token = Token::Unknown;
                for id in waiting {
                    self.channel_failed(now, id, error.clone());
                }
            }
            // The last request failed; retry.
            Token::Unknown => {
                self.is_waiting_for_token = true;
                self.request_token();
            }
        }
    }

    pub(super) fn join(&mut self, now: i64, id: ChannelId, token: &str) {
        let reference = self.next_ref();
        let deadline = now + self.timing.timeout_ms;
        if let Some(channel) = self.channels.get_mut(&id) {
            let message = channel.join(reference, deadline, token);
            self.send(message);
        }
    }

    pub(super) fn handle_reply(
        &mut self,
        now: i64,
        id: ChannelId,
        reference: Option<&str>,
        payload: &[u8],
    ) {
        let (Some(reference), Ok(reply)) = (reference, serde_json::from_slice::<Reply>(payload))
        else {
            return;
        };
        let is_ok = reply.status == "ok";
        let rejected = || RealtimeError::Rejected(reason(&reply.response));
        if let Some(call) = self.pending_replies.remove(reference) {
            let result = if is_ok { Ok(()) } else { Err(rejected()) };
            _ = call.waiter.send(result);
            return;
        }
        let Some(channel) = self.channels.get_mut(&id) else {
            return;
        };
        if !channel.is_joining_as(reference) {
            return;
        }
        if is_ok {
            match channel.joined(&reply.response) {
                Ok(()) => self.request_token(),
                Err(error) => {
                    self.send_leave(id);
                    if let Some(channel) = self.channels.get_mut(&id) {
                        channel.fail(&error, None);
                    }
                    self.remove_channel(now, id);
                }
            }
        } else {
            self.channel_failed(now, id, rejected());
        }
    }

    pub(super) fn handle_channel_deadline(&mut self, now: i64, id: ChannelId) {
        let Some(channel) = self.channels.get_mut(&id) else {
            return;
        };
        if !channel.is_joining() {
            channel.rejoin();
            return self.join_pending(now);
        }
        self.send_leave(id);
        self.channel_failed(now, id, RealtimeError::TimedOut);
    }

    /// The join is retried after the backoff, or as soon as there is a connection.
    pub(super) fn channel_failed(&mut self, now: i64, id: ChannelId, error: RealtimeError) {
        let (is_open, backoff) = (self.link == LinkState::Open, &self.timing.backoff);
        if let Some(channel) = self.channels.get_mut(&id) {
            let wait = |failures| now + backoff.wait_ms(failures);
            let retry = is_open.then_some(&wait as &dyn Fn(u32) -> i64);
            channel.fail(&error, retry);
        }
        self.fail_replies_of(id, &error);
    }

    pub(super) fn send_leave(&mut self, id: ChannelId) {
        let channel = self.channels.get(&id);
        let is_known = channel.is_some_and(ChannelState::is_join_sent);
        let Some(channel) = channel.filter(|_| is_known && self.link == LinkState::Open) else {
            return;
        };
        let (join_ref, topic) = (
            channel.join_ref().map(str::to_owned),
            channel.topic().to_owned(),
        );
        let reference = self.next_ref();
        self.send(Outgoing {
            join_ref,
            reference,
            topic,
            event: "phx_leave",
            payload: Body::Json(json!({})),
        });
    }

    pub(super) fn remove_channel(&mut self, now: i64, id: ChannelId) {
        let Some(channel) = self.channels.remove(&id) else {
            return;
        };
        channel.close();
        self.fail_replies_of(id, &RealtimeError::Closed);
        if self.channels.is_empty() {
            self.idle_at = Some(now + self.timing.idle_ms);
        }
    }

    pub(super) fn fail_replies_of(&mut self, id: ChannelId, error: &RealtimeError) {
        let of_channel = self
            .pending_replies
            .iter()
            .filter(|(_, call)| call.channel == id);
        let references: Vec<String> = of_channel.map(|(name, _)| name.clone()).collect();
        for call in references
            .iter()
            .filter_map(|name| self.pending_replies.remove(name))
        {
            _ = call.waiter.send(Err(error.clone()));
        }
    }
}

/// The reason of an error reply.
pub(super) fn reason(response: &Value) -> String {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text = match response {
        Value::Object(members) => members.values().map(word).collect::<Vec<_>>().join(", "),
        Value::Null => String::new(),
        other => word(other),
    };
    if text.is_empty() {
        "error".to_owned()
    } else {
        text
    }
}
