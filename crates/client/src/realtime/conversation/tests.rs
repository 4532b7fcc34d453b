//! Whole conversations, told as what happens and what is said, without a clock or a network.

use std::task::{Context, Poll};

use futures_util::task::noop_waker;
use serde_json::{Value, json};
use tokio::sync::oneshot::{self, Receiver};

use super::*;
use crate::realtime::event::{ChannelEvent, Payload};
use crate::realtime::frame::Body;
use crate::realtime::presence::PresenceEvent;
use crate::realtime::queue::{Bound, Reader, queue};
use crate::realtime::{ConnectionState, SocketMessage, Vsn};

type Outcome = Receiver<Result<(), RealtimeError>>;

/// A conversation at some moment.
struct Talk {
    it: Conversation,
    now: i64,
}

impl Talk {
    fn new() -> Self {
        let rules = Rules {
            heartbeat_ms: 25_000,
            timeout_ms: 10_000,
            idle_ms: 50_000,
            ladder: Ladder::default(),
        };
        Self {
            it: Conversation::new(rules),
            now: 0,
        }
    }

    /// Connected, with somebody's token.
    fn open() -> Self {
        let mut talk = Self::new();
        talk.it.connect();
        talk.it.opened(0);
        talk.it.token(0, Ok("token".to_owned()));
        talk.orders();
        talk
    }

    /// Connected, with a channel that has joined.
    fn joined() -> (Self, RoomId) {
        let mut talk = Self::open();
        let (room, mut outcome) = talk.subscribe("realtime:a");
        talk.answer_join("realtime:a", "ok", json!({ "postgres_changes": [] }));
        assert!(matches!(outcome.try_recv(), Ok(Ok(()))));
        talk.orders();
        (talk, room)
    }

    fn add(&mut self, topic: &str) -> RoomId {
        self.it.add_room(topic.to_owned(), ChannelConfig::default())
    }

    fn subscribe(&mut self, topic: &str) -> (RoomId, Outcome) {
        let room = self.add(topic);
        (room, self.subscribe_room(room))
    }

    fn subscribe_room(&mut self, room: RoomId) -> Outcome {
        let (waiter, outcome) = oneshot::channel();
        self.it.subscribe(self.now, room, waiter);
        outcome
    }

    fn listen(&mut self, room: RoomId, wants: Wants) -> Reader<ChannelEvent> {
        let (queue, reader) = queue(Bound::default());
        let listener = Listener { wants, queue };
        self.it.room(room).unwrap().listen(listener).unwrap();
        reader
    }

    /// What is to be done, in short; messages as `event topic ref join_ref`.
    fn orders(&mut self) -> Vec<String> {
        let mut orders = Vec::new();
        while let Some(order) = self.it.next_order() {
            orders.push(match order {
                Order::Connect => "connect".to_owned(),
                Order::Close(why) => format!("close: {why}"),
                Order::AskToken => "token?".to_owned(),
                Order::Send(message) => {
                    let join_ref = message.join_ref.as_deref().unwrap_or("-");
                    let (topic, reference) = (&message.topic, &message.reference);
                    format!("{} {topic} {reference} {join_ref}", message.event)
                }
            });
        }
        orders
    }

    /// The payloads of the messages to be sent.
    fn payloads(&mut self) -> Vec<Value> {
        let mut payloads = Vec::new();
        while let Some(order) = self.it.next_order() {
            if let Order::Send(Outgoing {
                payload: Body::Json(payload),
                ..
            }) = order
            {
                payloads.push(payload);
            }
        }
        payloads
    }

    fn advance(&mut self, ms: i64) {
        self.now += ms;
        self.it.time(self.now);
    }

    fn receive(&mut self, frame: Value) {
        let message = SocketMessage::Text(frame.to_string());
        let message = Incoming::decode(&message, Vsn::V2).expect("a message");
        self.it.received(self.now, message);
    }

    /// Answers the join that was sent last on a topic.
    fn answer_join(&mut self, topic: &str, status: &str, response: Value) {
        let room = self.it.rooms.values().find(|room| room.topic() == topic);
        let join_ref = room.unwrap().join_ref().unwrap().to_owned();
        let reply = json!({ "status": status, "response": response });
        self.receive(json!([join_ref, join_ref, topic, "phx_reply", reply]));
    }
}

fn heard(reader: &Reader<ChannelEvent>) -> Vec<ChannelEvent> {
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    let mut events = Vec::new();
    while let Poll::Ready(Some(Ok(event))) = reader.poll(&mut context) {
        events.push(event);
    }
    events
}

fn statuses(reader: &Reader<ChannelEvent>) -> Vec<&'static str> {
    let events = heard(reader);
    let names = events.iter().filter_map(|event| match event {
        ChannelEvent::Status(status) => Some(status.name()),
        _ => None,
    });
    names.collect()
}

#[test]
fn a_channel_joins_once_there_is_a_connection_and_a_token() {
    let mut talk = Talk::new();
    let (_, mut outcome) = talk.subscribe("realtime:a");
    assert_eq!(talk.orders(), ["connect", "token?"]);

    talk.it.opened(0);
    assert_eq!(talk.orders(), [""; 0]);
    talk.it.token(0, Ok("t".to_owned()));
    assert_eq!(talk.orders(), ["phx_join realtime:a 1 1"]);
    assert!(outcome.try_recv().is_err());

    talk.answer_join("realtime:a", "ok", json!({ "postgres_changes": [] }));
    assert!(matches!(outcome.try_recv(), Ok(Ok(()))));
    // Whose token it is may have changed meanwhile.
    assert_eq!(talk.orders(), ["token?"]);
}

#[test]
fn a_join_says_what_was_chosen() {
    let mut talk = Talk::open();
    let config = ChannelConfig {
        is_private: true,
        hears_itself: true,
        wants_ack: true,
        replay: Some(crate::realtime::Replay::since(5).limit(2)),
        presence_key: "me".to_owned(),
        has_presence: false,
    };
    let room = talk.it.add_room("realtime:a".to_owned(), config);
    let _presence = talk.listen(room, Wants::Presence);
    let wanted = crate::realtime::changes::Wanted {
        table: Some("t".to_owned()),
        ..Default::default()
    };
    assert_eq!(talk.it.room(room).unwrap().bind(wanted.clone()).unwrap(), 0);
    assert_eq!(talk.it.room(room).unwrap().bind(wanted).unwrap(), 0);
    let _outcome = talk.subscribe_room(room);

    let mut payload = talk.payloads().remove(0);
    let version = payload.as_object_mut().unwrap().remove("version");
    assert!(
        version
            .unwrap()
            .as_str()
            .unwrap()
            .starts_with("plinth-client/")
    );
    assert_eq!(
        payload,
        json!({
            "config": {
                "broadcast": { "ack": true, "self": true, "replay": { "since": 5, "limit": 2 } },
                "presence": { "key": "me", "enabled": true },
                "postgres_changes": [{ "event": "*", "table": "t" }],
                "private": true,
            },
            "access_token": "token",
        })
    );
}

#[test]
fn k14_a_refused_join_is_tried_again_after_1_2_5_and_10_seconds() {
    let mut talk = Talk::open();
    let (room, mut outcome) = talk.subscribe("realtime:a");
    let events = talk.listen(room, Wants::Statuses);
    let refusal = json!({ "reason": "Unauthorized: no" });
    talk.orders();

    for (failure, wait) in [1000, 2000, 5000, 10_000, 10_000].into_iter().enumerate() {
        talk.answer_join("realtime:a", "error", refusal.clone());
        assert_eq!(talk.orders(), [""; 0], "after failure {failure}");
        talk.advance(wait - 1);
        assert!(
            !talk
                .orders()
                .iter()
                .any(|order| order.starts_with("phx_join"))
        );
        talk.advance(1);
        let orders = talk.orders();
        assert!(
            orders.iter().any(|order| order.starts_with("phx_join")),
            "{orders:?}"
        );
    }
    assert!(matches!(
        outcome.try_recv(),
        Ok(Err(RealtimeError::Refused(why))) if why == "Unauthorized: no"
    ));
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"; 5]);

    // A good join begins the ladder anew.
    talk.answer_join("realtime:a", "ok", json!({}));
    assert_eq!(statuses(&events), ["SUBSCRIBED"]);
    let join_ref = talk.it.room(room).unwrap().join_ref().unwrap().to_owned();
    talk.receive(json!([join_ref, join_ref, "realtime:a", "phx_error", {}]));
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"]);
    talk.orders();
    talk.advance(1000);
    assert!(talk.orders()[0].starts_with("phx_join realtime:a"));
}

#[test]
fn a_new_connection_begins_the_ladder_of_joins_anew() {
    let mut talk = Talk::open();
    let (_, _outcome) = talk.subscribe("realtime:a");
    for wait in [1000, 2000] {
        talk.answer_join("realtime:a", "error", json!({}));
        talk.advance(wait);
    }
    talk.it.lost(talk.now, "reset");
    talk.advance(1000);
    talk.it.opened(talk.now);
    talk.it.token(talk.now, Ok("token".to_owned()));
    talk.answer_join("realtime:a", "error", json!({}));
    talk.orders();

    talk.advance(999);
    assert_eq!(talk.orders(), [""; 0]);
    talk.advance(1);
    assert_eq!(talk.orders().len(), 1);
}

#[test]
fn a_join_without_an_answer_is_left_and_tried_again() {
    let mut talk = Talk::open();
    let (room, mut outcome) = talk.subscribe("realtime:a");
    let events = talk.listen(room, Wants::Statuses);
    assert_eq!(talk.orders(), ["phx_join realtime:a 1 1"]);

    talk.advance(9_999);
    assert!(outcome.try_recv().is_err());
    talk.advance(1);
    assert!(matches!(
        outcome.try_recv(),
        Ok(Err(RealtimeError::TimedOut))
    ));
    assert_eq!(talk.orders(), ["phx_leave realtime:a 2 1"]);
    assert_eq!(statuses(&events), ["TIMED_OUT"]);
    talk.advance(1000);
    assert_eq!(talk.orders(), ["phx_join realtime:a 3 3"]);

    // The first join's answer comes at last, and is not this one's.
    talk.receive(json!(["1", "1", "realtime:a", "phx_reply", { "status": "ok", "response": {} }]));
    assert!(!talk.it.room(room).unwrap().is_joined());
}

#[test]
fn k14_a_lost_connection_is_made_anew_and_channels_join_again() {
    let (mut talk, room) = Talk::joined();
    let events = talk.listen(room, Wants::Statuses);

    talk.it.lost(0, "reset");
    assert_eq!(talk.it.state(), ConnectionState::Connecting);
    assert_eq!(talk.orders(), [""; 0]);
    for wait in [1000, 2000, 5000, 10_000, 10_000] {
        talk.advance(wait - 1);
        assert_eq!(talk.orders(), [""; 0]);
        talk.advance(1);
        assert_eq!(talk.orders(), ["connect", "token?"]);
        talk.it.lost(talk.now, "refused");
    }
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"]);

    talk.advance(10_000);
    talk.orders();
    talk.it.opened(talk.now);
    talk.it.token(talk.now, Ok("token".to_owned()));
    assert_eq!(talk.orders().len(), 1);
    talk.answer_join("realtime:a", "ok", json!({}));
    assert_eq!(statuses(&events), ["SUBSCRIBED"]);

    // The ladder of connections begins anew, too.
    talk.orders();
    talk.it.lost(talk.now, "reset");
    talk.advance(1000);
    assert_eq!(talk.orders(), ["connect", "token?"]);
}

#[test]
fn whoever_subscribes_while_there_is_no_connection_is_told_why() {
    let mut talk = Talk::new();
    let (_, mut outcome) = talk.subscribe("realtime:a");
    talk.orders();
    talk.it.lost(0, "Token has expired (status 401)");

    let Ok(Err(error)) = outcome.try_recv() else {
        panic!("no outcome");
    };
    assert!(error.to_string().contains("Token has expired"), "{error}");

    // Others do not make it hurry.
    let (_, _outcome) = talk.subscribe("realtime:b");
    assert_eq!(talk.orders(), [""; 0]);
    talk.advance(1000);
    assert_eq!(talk.orders(), ["connect", "token?"]);
}

#[test]
fn k14_heartbeats_are_sent_every_25_seconds_and_silence_ends_the_connection() {
    let (mut talk, room) = Talk::joined();
    let statuses_of = talk.listen(room, Wants::Statuses);
    let (queue, beats) = queue(Bound::default());
    talk.it.listen_to_heartbeats(queue);
    let told = || {
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        let mut told = Vec::new();
        while let Poll::Ready(Some(Ok(beat))) = beats.poll(&mut context) {
            told.push(beat);
        }
        told
    };

    talk.advance(24_999);
    assert_eq!(talk.orders(), [""; 0]);
    talk.advance(1);
    assert_eq!(talk.orders(), ["heartbeat phoenix 2 -", "token?"]);
    talk.now += 7;
    talk.receive(json!([null, "2", "phoenix", "phx_reply", { "status": "ok", "response": {} }]));
    assert_eq!(told(), [Heartbeat::Sent, Heartbeat::Ok { latency_ms: 7 }]);

    talk.advance(25_000);
    assert_eq!(talk.orders()[0], "heartbeat phoenix 3 -");
    // An answer to another one is none.
    talk.receive(json!([null, "2", "phoenix", "phx_reply", { "status": "ok" }]));
    talk.advance(25_000);
    assert_eq!(talk.orders(), ["close: heartbeat timeout"]);
    assert_eq!(
        told(),
        [
            Heartbeat::Sent,
            Heartbeat::TimedOut,
            Heartbeat::Disconnected
        ]
    );
    assert_eq!(statuses(&statuses_of), ["CHANNEL_ERROR"]);
    talk.advance(1000);
    assert_eq!(talk.orders(), ["connect", "token?"]);
}

#[test]
fn a_new_token_is_told_to_every_joined_channel_once() {
    let (mut talk, _room) = Talk::joined();
    let (_, _waiting) = talk.subscribe("realtime:b");
    talk.orders();

    talk.it.token(0, Ok("token".to_owned()));
    assert_eq!(talk.orders(), [""; 0]);
    talk.it.token(0, Ok("other".to_owned()));
    assert_eq!(talk.payloads(), [json!({ "access_token": "other" })]);
    talk.it.token(0, Ok("other".to_owned()));
    assert_eq!(talk.orders(), [""; 0]);
}

#[test]
fn a_token_of_the_callers_stays_until_they_take_it_back() {
    let (mut talk, _room) = Talk::joined();

    talk.it.fix_token(0, Some("mine".to_owned()));
    assert_eq!(talk.payloads(), [json!({ "access_token": "mine" })]);
    talk.it.token(0, Ok("session".to_owned()));
    talk.advance(25_000);
    assert_eq!(talk.orders(), ["heartbeat phoenix 3 -"]);
    talk.it.fix_token(0, None);
    assert_eq!(talk.orders(), ["token?"]);
    talk.it.token(0, Ok("session".to_owned()));
    assert_eq!(talk.payloads(), [json!({ "access_token": "session" })]);
}

#[test]
fn nobody_joins_in_nobodys_name_when_the_session_cannot_be_refreshed() {
    let mut talk = Talk::new();
    let (_, mut first) = talk.subscribe("realtime:a");
    let (_, mut second) = talk.subscribe("realtime:b");
    talk.orders();
    talk.it.opened(0);
    talk.it.token(0, Err(AuthError::SessionMissing));

    for outcome in [&mut first, &mut second] {
        assert!(matches!(
            outcome.try_recv(),
            Ok(Err(RealtimeError::Auth(_)))
        ));
    }
    assert_eq!(talk.orders(), [""; 0]);
    talk.advance(1000);
    assert_eq!(talk.orders(), ["token?"]);
    talk.it.token(talk.now, Ok("t".to_owned()));
    assert_eq!(
        talk.orders(),
        ["phx_join realtime:a 1 1", "phx_join realtime:b 2 2"]
    );
    // One that was good stays in use.
    talk.it.token(talk.now, Err(AuthError::SessionMissing));
    assert!(matches!(talk.it.token, Token::Known(_)));
}

#[test]
fn messages_of_an_earlier_join_are_not_heard() {
    let (mut talk, room) = Talk::joined();
    let events = talk.listen(room, Wants::Everything);
    let said = json!({ "type": "broadcast", "event": "e", "payload": 1 });

    talk.receive(json!(["99", null, "realtime:a", "broadcast", said]));
    talk.receive(json!(["99", "99", "realtime:a", "phx_close", {}]));
    talk.receive(json!([null, "99", "realtime:a", "phx_close", {}]));
    talk.receive(json!([null, null, "realtime:other", "broadcast", said]));
    assert!(heard(&events).is_empty());

    talk.receive(json!([null, null, "realtime:a", "broadcast", said]));
    talk.receive(json!(["1", null, "realtime:a", "broadcast", said]));
    assert_eq!(heard(&events).len(), 2);
}

#[test]
fn streams_hear_what_they_are_about() {
    let (mut talk, room) = Talk::joined();
    let named = talk.listen(room, Wants::Broadcasts("Cursor".to_owned()));
    let any = talk.listen(room, Wants::Broadcasts("*".to_owned()));
    let system = talk.listen(room, Wants::System);
    let changes = talk.listen(room, Wants::Changes(0));

    for event in ["cursor", "other"] {
        let said = json!({ "type": "broadcast", "event": event, "payload": {} });
        talk.receive(json!([null, null, "realtime:a", "broadcast", said]));
    }
    for (extension, status) in [("system", "error"), ("postgres_changes", "ok")] {
        let said = json!({ "extension": extension, "status": status, "message": "m" });
        talk.receive(json!(["1", null, "realtime:a", "system", said]));
    }
    assert_eq!(heard(&named).len(), 1);
    assert_eq!(heard(&any).len(), 2);
    assert_eq!(heard(&system).len(), 2);
    assert!(heard(&changes).is_empty());

    let refused = json!({ "extension": "postgres_changes", "status": "error", "message": "m" });
    talk.receive(json!(["1", null, "realtime:a", "system", refused]));
    assert_eq!(heard(&changes).len(), 1);
}

#[test]
fn the_server_ends_a_channel_for_good() {
    let (mut talk, room) = Talk::joined();
    let events = talk.listen(room, Wants::Everything);

    talk.receive(json!(["1", "1", "realtime:a", "phx_close", {}]));

    assert_eq!(statuses(&events), ["CLOSED"]);
    let waker = noop_waker();
    assert!(matches!(
        events.poll(&mut Context::from_waker(&waker)),
        Poll::Ready(None)
    ));
    let mut again = talk.subscribe_room(room);
    assert!(matches!(again.try_recv(), Ok(Err(RealtimeError::Closed))));
    talk.advance(20_000);
    assert_eq!(talk.orders(), [""; 0]);
}

#[test]
fn leaving_is_said_and_not_waited_for_and_the_connection_ends_a_while_later() {
    let (mut talk, room) = Talk::joined();
    talk.it.leave(0, room);
    assert_eq!(talk.orders(), ["phx_leave realtime:a 2 1"]);

    // Somebody may come back in time.
    talk.advance(20_000);
    let (room, _outcome) = talk.subscribe("realtime:a");
    talk.it.leave(talk.now, room);
    talk.orders();
    talk.now += 49_999;
    talk.it.pending_heartbeat = None;
    talk.it.heartbeat_due = i64::MAX;
    talk.it.time(talk.now);
    assert_eq!(talk.orders(), [""; 0]);
    talk.advance(1);
    assert_eq!(talk.orders(), ["close: disconnected"]);
    assert_eq!(talk.it.state(), ConnectionState::Closed);
    talk.advance(60_000);
    assert_eq!(talk.orders(), [""; 0]);
}

#[test]
fn a_connection_that_was_ended_is_not_made_anew_until_somebody_wants_it() {
    let (mut talk, room) = Talk::joined();
    let events = talk.listen(room, Wants::Statuses);
    talk.it.disconnect(0);
    assert_eq!(talk.orders(), ["close: disconnected"]);
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"]);
    talk.advance(60_000);
    assert_eq!(talk.orders(), [""; 0]);

    talk.it.connect();
    talk.it.opened(talk.now);
    talk.it.token(talk.now, Ok("token".to_owned()));
    assert_eq!(
        talk.orders(),
        ["connect", "token?", "phx_join realtime:a 2 2"]
    );
}

#[test]
fn messages_wait_for_their_answers_and_no_longer_than_they_may() {
    let (mut talk, room) = Talk::joined();
    let push = |talk: &mut Talk| {
        let (waiter, outcome) = oneshot::channel();
        let body = Body::Json(json!({}));
        talk.it
            .push(talk.now, room, "presence", body, Some(waiter))
            .unwrap();
        outcome
    };
    let reply = |reference: &str, status: &str, response: Value| {
        let reply = json!({ "status": status, "response": response });
        json!(["1", reference, "realtime:a", "phx_reply", reply])
    };

    let mut good = push(&mut talk);
    let mut bad = push(&mut talk);
    let mut late = push(&mut talk);
    assert_eq!(talk.orders().len(), 3);
    talk.receive(reply("3", "error", json!({ "reason": "no", "n": 1 })));
    talk.receive(reply("2", "ok", json!({})));
    assert!(matches!(good.try_recv(), Ok(Ok(()))));
    let Ok(Err(RealtimeError::Refused(why))) = bad.try_recv() else {
        panic!("not refused");
    };
    assert!(why.contains("no"), "{why}");
    talk.advance(10_000);
    assert!(matches!(late.try_recv(), Ok(Err(RealtimeError::TimedOut))));

    let other = talk.add("realtime:b");
    let mut unanswered = push(&mut talk);
    talk.it.leave(talk.now, other);
    assert!(unanswered.try_recv().is_err());

    let mut lost = push(&mut talk);
    talk.it.lost(talk.now, "reset");
    assert!(matches!(
        lost.try_recv(),
        Ok(Err(RealtimeError::Disconnected(_)))
    ));
    let body = Body::Broadcast {
        event: "e".to_owned(),
        payload: Payload::Json("1".into()),
    };
    let refused = talk.it.push(talk.now, room, "broadcast", body, None);
    assert!(matches!(refused, Err(RealtimeError::NotSubscribed)));
}

#[test]
fn whoever_waits_for_an_answer_is_told_that_the_channel_was_left() {
    let (mut talk, room) = Talk::joined();
    let (waiter, mut outcome) = oneshot::channel();
    let body = Body::Json(json!({}));
    talk.it
        .push(0, room, "presence", body, Some(waiter))
        .unwrap();

    talk.it.leave(0, room);

    assert!(matches!(outcome.try_recv(), Ok(Err(RealtimeError::Closed))));
}

#[test]
fn senders_wait_when_the_connection_does_not_keep_up() {
    let (mut talk, room) = Talk::joined();
    let mut sent = 0;
    while talk.it.has_capacity() {
        let body = Body::Json(json!({}));
        talk.it.push(0, room, "presence", body, None).unwrap();
        sent += 1;
    }
    assert_eq!(sent, MAX_WAITING_MESSAGES);

    talk.it.next_order();
    assert!(talk.it.has_capacity());
    talk.it.lost(0, "reset");
    assert_eq!((talk.it.orders.len(), talk.it.waiting_messages), (0, 0));
}

#[test]
fn presence_is_followed_only_by_those_who_asked_for_it() {
    let mut talk = Talk::open();
    let room = talk.add("realtime:a");
    let presence = talk.listen(room, Wants::Presence);
    let deaf = talk.add("realtime:b");
    let _outcomes = (talk.subscribe_room(room), talk.subscribe_room(deaf));
    let diff = json!({ "joins": { "k": { "metas": [{ "phx_ref": "r" }] } }, "leaves": {} });
    for topic in ["realtime:a", "realtime:b"] {
        talk.answer_join(topic, "ok", json!({}));
        talk.receive(json!([null, null, topic, "presence_diff", diff]));
    }
    assert!(heard(&presence).is_empty());
    talk.receive(json!(["1", null, "realtime:a", "presence_state", {}]));

    let events = heard(&presence);
    assert!(matches!(
        &events[..],
        [
            ChannelEvent::Presence(PresenceEvent::Join { key, .. }),
            ChannelEvent::Presence(PresenceEvent::Sync),
        ] if key == "k"
    ));
    assert!(talk.it.presence(room).contains_key("k"));
    assert!(talk.it.presence(deaf).is_empty());

    // Some servers have presence on for everybody.
    talk.receive(json!(["2", null, "realtime:b", "presence_state", {}]));
    talk.receive(json!([null, null, "realtime:b", "presence_diff", diff]));
    assert!(talk.it.presence(deaf).contains_key("k"));

    let late = queue(Bound::default());
    let late = Listener {
        wants: Wants::Presence,
        queue: late.0,
    };
    let refused = talk.it.room(deaf).unwrap().listen(late);
    assert!(matches!(refused, Err(RealtimeError::InvalidInput(_))));
}

#[test]
fn differences_of_a_lost_join_do_not_wait_for_the_next_picture() {
    let mut talk = Talk::open();
    let room = talk.add("realtime:a");
    let _presence = talk.listen(room, Wants::Presence);
    let _outcome = talk.subscribe_room(room);
    talk.answer_join("realtime:a", "ok", json!({}));
    let diff = json!({ "joins": { "k": { "metas": [{ "phx_ref": "r" }] } }, "leaves": {} });
    talk.receive(json!([null, null, "realtime:a", "presence_diff", diff]));
    talk.it.lost(talk.now, "reset");
    talk.advance(1000);
    talk.it.opened(talk.now);
    talk.it.token(talk.now, Ok("token".to_owned()));
    talk.answer_join("realtime:a", "ok", json!({}));

    talk.receive(json!([null, null, "realtime:a", "presence_state", {}]));

    assert!(talk.it.presence(room).is_empty());
}

mod changes {
    use super::*;
    use crate::realtime::changes::{Event, Wanted};

    fn wanted(event: Event, filter: Option<&str>) -> Wanted {
        Wanted {
            event,
            schema: Some("public".to_owned()),
            table: Some("t".to_owned()),
            filter: filter.map(str::to_owned),
            select: Vec::new(),
        }
    }

    fn agreed(id: i64, event: &str, filter: Option<&str>) -> Value {
        json!({ "id": id, "event": event, "schema": "public", "table": "t", "filter": filter })
    }

    /// A channel that asks for all changes and for inserts of some rows.
    fn asking() -> (Talk, RoomId, [Reader<ChannelEvent>; 3], Outcome) {
        let mut talk = Talk::open();
        let room = talk.add("realtime:a");
        let bind = |talk: &mut Talk, wanted| talk.it.room(room).unwrap().bind(wanted).unwrap();
        let all = bind(&mut talk, wanted(Event::All, None));
        let some = bind(&mut talk, wanted(Event::Insert, Some("id=eq.1")));
        let readers = [
            talk.listen(room, Wants::Changes(all)),
            talk.listen(room, Wants::Changes(some)),
            talk.listen(room, Wants::Everything),
        ];
        let outcome = talk.subscribe_room(room);
        (talk, room, readers, outcome)
    }

    fn change(ids: &[i64], kind: &str) -> Value {
        let data = json!({ "type": kind, "schema": "public", "table": "t", "record": { "id": 1 } });
        json!([null, null, "realtime:a", "postgres_changes", { "ids": ids, "data": data }])
    }

    fn count(reader: &Reader<ChannelEvent>) -> usize {
        let events = heard(reader);
        let changes = events
            .iter()
            .filter(|event| matches!(event, ChannelEvent::Change(_)));
        changes.count()
    }

    #[test]
    fn changes_reach_those_whose_entry_the_server_names() {
        let (mut talk, _, [all, some, everything], mut outcome) = asking();
        let agreed = [agreed(7, "*", None), agreed(8, "INSERT", Some("id=eq.1"))];
        talk.answer_join("realtime:a", "ok", json!({ "postgres_changes": agreed }));
        assert!(matches!(outcome.try_recv(), Ok(Ok(()))));

        talk.receive(change(&[7, 8], "INSERT"));
        talk.receive(change(&[7], "UPDATE"));
        talk.receive(change(&[8], "UPDATE"));
        talk.receive(change(&[9], "INSERT"));
        assert_eq!((count(&all), count(&some), count(&everything)), (2, 1, 2));
    }

    #[test]
    fn a_server_that_agrees_to_something_else_is_left() {
        for other in [
            json!([agreed(7, "*", None)]),
            json!([agreed(8, "INSERT", Some("id=eq.1")), agreed(7, "*", None)]),
            json!([]),
        ] {
            let (mut talk, room, [_, _, events], mut outcome) = asking();
            talk.orders();
            talk.answer_join("realtime:a", "ok", json!({ "postgres_changes": other }));

            assert!(matches!(
                outcome.try_recv(),
                Ok(Err(RealtimeError::BindingMismatch))
            ));
            assert_eq!(talk.orders(), ["phx_leave realtime:a 2 1"]);
            assert_eq!(statuses(&events), ["CHANNEL_ERROR", "CLOSED"]);
            assert!(talk.it.room(room).is_none());
        }
    }

    #[test]
    fn more_cannot_be_asked_for_later() {
        let (mut talk, room, _readers, _outcome) = asking();
        let room = talk.it.room(room).unwrap();

        assert_eq!(room.bind(wanted(Event::All, None)).unwrap(), 0);
        let refused = room.bind(wanted(Event::Delete, None));
        assert!(matches!(refused, Err(RealtimeError::InvalidInput(_))));
    }
}

#[test]
fn refusals_are_told_in_the_words_of_the_answer() {
    assert_eq!(
        reason(&json!({ "reason": "no", "more": 2 }))
            .matches("no")
            .count(),
        1
    );
    assert_eq!(
        reason(&json!("payload_size_exceeded")),
        "payload_size_exceeded"
    );
    for empty in [json!({}), json!(null), json!("")] {
        assert_eq!(reason(&empty), "error");
    }
}

proptest::proptest! {
    /// Whatever a server says, in whatever order, ends in no panic and asks for no busy waiting.
    #[test]
    fn no_server_confuses_it(
        frames in proptest::collection::vec((0usize..9, 0usize..4, 0i64..30_000), 0..40),
    ) {
        let (mut talk, room) = Talk::joined();
        let _events = talk.listen(room, Wants::Everything);
        for (event, reference, wait) in frames {
            let events = [
                "phx_reply", "phx_close", "phx_error", "presence_state", "presence_diff",
                "postgres_changes", "system", "broadcast", "what",
            ];
            let reference = [json!(null), json!("1"), json!("2"), json!("99")][reference].clone();
            let payload = json!({ "status": "ok", "response": {}, "joins": {}, "ids": [1] });
            talk.receive(json!([reference, reference, "realtime:a", events[event], payload]));
            if wait % 7 == 0 {
                talk.it.lost(talk.now, "x");
            }
            if wait % 5 == 0 {
                talk.it.opened(talk.now);
            }
            talk.advance(wait);
            let deadline = talk.it.deadline();
            proptest::prop_assert!(deadline.is_none_or(|at| at > talk.now));
        }
    }
}
