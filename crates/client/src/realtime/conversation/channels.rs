//! Channels: joining, leaving, and what waits for an answer (realtime contract §4, §5).

use serde_json::{Value, json};

use super::{Call, ChannelConfig, Conversation, Link, Reply, Room, RoomId, Token, Waiter};
use crate::realtime::RealtimeError;
use crate::realtime::frame::{Body, Outgoing};
use crate::realtime::presence::PresenceState;

impl Conversation {
    pub(in crate::realtime) fn add_room(&mut self, topic: String, config: ChannelConfig) -> RoomId {
        self.last_room += 1;
        self.idle_at = None;
        self.rooms.insert(self.last_room, Room::new(topic, config));
        self.last_room
    }

    pub(in crate::realtime) fn room(&mut self, id: RoomId) -> Option<&mut Room> {
        self.rooms.get_mut(&id)
    }

    pub(in crate::realtime) fn presence(&self, id: RoomId) -> PresenceState {
        let room = self.rooms.get(&id);
        room.map(|room| room.presence().clone()).unwrap_or_default()
    }

    pub(in crate::realtime) fn subscribe(&mut self, now: i64, id: RoomId, waiter: Waiter) {
        let Some(room) = self.rooms.get_mut(&id) else {
            _ = waiter.send(Err(RealtimeError::Closed));
            return;
        };
        room.subscribe(now + self.rules.timeout_ms, waiter);
        self.connect();
        self.join_waiting(now);
    }

    /// Ends a channel. The server is told and not waited for.
    pub(in crate::realtime) fn leave(&mut self, now: i64, id: RoomId) {
        self.say_goodbye(id);
        self.forget(now, id);
    }

    /// Sends over a joined channel. Without a waiter nobody is told of an answer.
    pub(in crate::realtime) fn push(
        &mut self,
        now: i64,
        id: RoomId,
        event: &'static str,
        payload: Body,
        waiter: Option<Waiter>,
    ) -> Result<(), RealtimeError> {
        let room = self.rooms.get(&id).ok_or(RealtimeError::Closed)?;
        if !room.is_joined() || self.link != Link::Open {
            return Err(RealtimeError::NotSubscribed);
        }
        let (join_ref, topic) = (room.join_ref().map(str::to_owned), room.topic().to_owned());
        let reference = self.next_ref();
        if let Some(waiter) = waiter {
            let call = Call {
                room: id,
                deadline: now + self.rules.timeout_ms,
                waiter,
            };
            self.calls.insert(reference.clone(), call);
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

    /// Joins whatever waits for a connection and a token.
    pub(super) fn join_waiting(&mut self, now: i64) {
        if self.link != Link::Open || self.awaits_token {
            return;
        }
        let waiting = self.rooms.iter().filter(|(_, room)| room.waits_to_join());
        let waiting: Vec<RoomId> = waiting.map(|(id, _)| *id).collect();
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
                    self.room_failed(now, id, error.clone());
                }
            }
            // Asked again, because the last time it failed.
            Token::Unknown => {
                self.awaits_token = true;
                self.ask_token();
            }
        }
    }

    pub(super) fn join(&mut self, now: i64, id: RoomId, token: &str) {
        let reference = self.next_ref();
        let deadline = now + self.rules.timeout_ms;
        if let Some(room) = self.rooms.get_mut(&id) {
            let message = room.join(reference, deadline, token);
            self.send(message);
        }
    }

    pub(super) fn replied(
        &mut self,
        now: i64,
        id: RoomId,
        reference: Option<&str>,
        payload: &[u8],
    ) {
        let (Some(reference), Ok(reply)) = (reference, serde_json::from_slice::<Reply>(payload))
        else {
            return;
        };
        let is_ok = reply.status == "ok";
        let refused = || RealtimeError::Refused(reason(&reply.response));
        if let Some(call) = self.calls.remove(reference) {
            let result = if is_ok { Ok(()) } else { Err(refused()) };
            _ = call.waiter.send(result);
            return;
        }
        let Some(room) = self.rooms.get_mut(&id) else {
            return;
        };
        if !room.is_joining_as(reference) {
            return;
        }
        match is_ok {
            false => self.room_failed(now, id, refused()),
            true => match room.joined(&reply.response) {
                Ok(()) => self.ask_token(),
                Err(error) => {
                    self.say_goodbye(id);
                    if let Some(room) = self.rooms.get_mut(&id) {
                        room.fail(&error, None);
                    }
                    self.forget(now, id);
                }
            },
        }
    }

    pub(super) fn room_is_due(&mut self, now: i64, id: RoomId) {
        let Some(room) = self.rooms.get_mut(&id) else {
            return;
        };
        if !room.is_joining() {
            room.rejoin();
            return self.join_waiting(now);
        }
        self.say_goodbye(id);
        self.room_failed(now, id, RealtimeError::TimedOut);
    }

    /// It is tried again after a while, or as soon as there is a connection.
    pub(super) fn room_failed(&mut self, now: i64, id: RoomId, error: RealtimeError) {
        let (is_open, ladder) = (self.link == Link::Open, &self.rules.ladder);
        if let Some(room) = self.rooms.get_mut(&id) {
            let wait = |failures| now + ladder.wait_ms(failures);
            let retry = is_open.then_some(&wait as &dyn Fn(u32) -> i64);
            room.fail(&error, retry);
        }
        self.end_calls_of(id, &error);
    }

    pub(super) fn say_goodbye(&mut self, id: RoomId) {
        let room = self.rooms.get(&id);
        let is_known = room.is_some_and(Room::is_known_to_the_server);
        let Some(room) = room.filter(|_| is_known && self.link == Link::Open) else {
            return;
        };
        let (join_ref, topic) = (room.join_ref().map(str::to_owned), room.topic().to_owned());
        let reference = self.next_ref();
        self.send(Outgoing {
            join_ref,
            reference,
            topic,
            event: "phx_leave",
            payload: Body::Json(json!({})),
        });
    }

    pub(super) fn forget(&mut self, now: i64, id: RoomId) {
        let Some(room) = self.rooms.remove(&id) else {
            return;
        };
        room.close();
        self.end_calls_of(id, &RealtimeError::Closed);
        if self.rooms.is_empty() {
            self.idle_at = Some(now + self.rules.idle_ms);
        }
    }

    pub(super) fn end_calls_of(&mut self, id: RoomId, error: &RealtimeError) {
        let of_room = self.calls.iter().filter(|(_, call)| call.room == id);
        let references: Vec<String> = of_room.map(|(name, _)| name.clone()).collect();
        for call in references.iter().filter_map(|name| self.calls.remove(name)) {
            _ = call.waiter.send(Err(error.clone()));
        }
    }
}

/// Why something was refused, in the words of the answer.
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
    match text.is_empty() {
        true => "error".to_owned(),
        false => text,
    }
}
