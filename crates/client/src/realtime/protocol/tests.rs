//! Whole exchanges as scripted inputs and expected actions, without a clock or a network.

use std::task::{Context, Poll};

use futures_util::task::noop_waker;
use serde_json::{Value, json};
use tokio::sync::oneshot::{self, Receiver};

use super::*;
use crate::realtime::event::{ChannelEvent, Payload};
use crate::realtime::frame::Body;
use crate::realtime::presence::PresenceEvent;
use crate::realtime::queue::{QueueLimits, Reader, queue};
use crate::realtime::{ConnectionState, SocketMessage, Vsn};

type Outcome = Receiver<Result<(), RealtimeError>>;

/// A conversation at some moment.
struct Harness {
    protocol: Protocol,
    now: i64,
}

impl Harness {
    fn new() -> Self {
        let timing = Timing {
            heartbeat_ms: 25_000,
            timeout_ms: 10_000,
            idle_ms: 50_000,
            backoff: Backoff::default(),
        };
        Self {
            protocol: Protocol::new(timing),
            now: 0,
        }
    }

    /// Connected, with a user's token.
    fn open() -> Self {
        let mut harness = Self::new();
        harness.protocol.connect();
        harness.protocol.opened(0);
        harness.protocol.token_received(0, Ok("token".to_owned()));
        harness.actions();
        harness
    }

    /// Connected, with a channel that has joined.
    fn joined() -> (Self, ChannelId) {
        let mut harness = Self::open();
        let (channel, mut outcome) = harness.subscribe("realtime:a");
        harness.reply_to_join("realtime:a", "ok", json!({ "postgres_changes": [] }));
        assert!(matches!(outcome.try_recv(), Ok(Ok(()))));
        harness.actions();
        (harness, channel)
    }

    fn add(&mut self, topic: &str) -> ChannelId {
        self.protocol
            .add_channel(topic.to_owned(), ChannelConfig::default())
    }

    fn subscribe(&mut self, topic: &str) -> (ChannelId, Outcome) {
        let channel = self.add(topic);
        (channel, self.subscribe_channel(channel))
    }

    fn subscribe_channel(&mut self, channel: ChannelId) -> Outcome {
        let (waiter, outcome) = oneshot::channel();
        self.protocol.subscribe(self.now, channel, waiter);
        outcome
    }

    fn listen(&mut self, channel: ChannelId, filter: EventFilter) -> Reader<ChannelEvent> {
        let (queue, reader) = queue(QueueLimits::default());
        let subscriber = Subscriber { filter, queue };
        self.protocol
            .channel(channel)
            .unwrap()
            .listen(subscriber)
            .unwrap();
        reader
    }

    /// What is to be done, in short; messages as `event topic ref join_ref`.
    fn actions(&mut self) -> Vec<String> {
        let mut actions = Vec::new();
        while let Some(action) = self.protocol.next_action() {
            actions.push(match action {
                Action::Connect => "connect".to_owned(),
                Action::Close(why) => format!("close: {why}"),
                Action::FetchToken => "token?".to_owned(),
                Action::Send(message) => {
                    let join_ref = message.join_ref.as_deref().unwrap_or("-");
                    let (topic, reference) = (&message.topic, &message.reference);
                    format!("{} {topic} {reference} {join_ref}", message.event)
                }
            });
        }
        actions
    }

    /// The payloads of the messages to be sent.
    fn payloads(&mut self) -> Vec<Value> {
        let mut payloads = Vec::new();
        while let Some(action) = self.protocol.next_action() {
            if let Action::Send(Outgoing {
                payload: Body::Json(payload),
                ..
            }) = action
            {
                payloads.push(payload);
            }
        }
        payloads
    }

    fn advance(&mut self, ms: i64) {
        self.now += ms;
        self.protocol.handle_timers(self.now);
    }

    fn receive(&mut self, frame: Value) {
        let message = SocketMessage::Text(frame.to_string());
        let message = Incoming::decode(&message, Vsn::V2).expect("a message");
        self.protocol.received(self.now, message);
    }

    /// Replies to the join that was sent last on a topic.
    fn reply_to_join(&mut self, topic: &str, status: &str, response: Value) {
        let channel = self
            .protocol
            .channels
            .values()
            .find(|channel| channel.topic() == topic);
        let join_ref = channel.unwrap().join_ref().unwrap().to_owned();
        let reply = json!({ "status": status, "response": response });
        self.receive(json!([join_ref, join_ref, topic, "phx_reply", reply]));
    }
}

fn drain(reader: &Reader<ChannelEvent>) -> Vec<ChannelEvent> {
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    let mut events = Vec::new();
    while let Poll::Ready(Some(Ok(event))) = reader.poll(&mut context) {
        events.push(event);
    }
    events
}

fn statuses(reader: &Reader<ChannelEvent>) -> Vec<&'static str> {
    let events = drain(reader);
    let names = events.iter().filter_map(|event| match event {
        ChannelEvent::Status(status) => Some(status.name()),
        _ => None,
    });
    names.collect()
}

#[test]
fn a_channel_joins_once_there_is_a_connection_and_a_token() {
    let mut harness = Harness::new();
    let (_, mut outcome) = harness.subscribe("realtime:a");
    assert_eq!(harness.actions(), ["connect", "token?"]);

    harness.protocol.opened(0);
    assert_eq!(harness.actions(), [""; 0]);
    harness.protocol.token_received(0, Ok("t".to_owned()));
    assert_eq!(harness.actions(), ["phx_join realtime:a 1 1"]);
    assert!(outcome.try_recv().is_err());

    harness.reply_to_join("realtime:a", "ok", json!({ "postgres_changes": [] }));
    assert!(matches!(outcome.try_recv(), Ok(Ok(()))));
    // Whose token it is may have changed meanwhile.
    assert_eq!(harness.actions(), ["token?"]);
}

#[test]
fn a_join_says_what_was_chosen() {
    let mut harness = Harness::open();
    let config = ChannelConfig {
        is_private: true,
        receives_own: true,
        wants_ack: true,
        replay: Some(crate::realtime::Replay::since(5).limit(2)),
        presence_key: "me".to_owned(),
        has_presence: false,
    };
    let channel = harness
        .protocol
        .add_channel("realtime:a".to_owned(), config);
    let _presence = harness.listen(channel, EventFilter::Presence);
    let request = crate::realtime::changes::BindingRequest {
        table: Some("t".to_owned()),
        ..Default::default()
    };
    assert_eq!(
        harness
            .protocol
            .channel(channel)
            .unwrap()
            .bind(request.clone())
            .unwrap(),
        0
    );
    assert_eq!(
        harness
            .protocol
            .channel(channel)
            .unwrap()
            .bind(request)
            .unwrap(),
        0
    );
    let _outcome = harness.subscribe_channel(channel);

    let mut payload = harness.payloads().remove(0);
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
fn k14_a_rejected_join_is_tried_again_after_1_2_5_and_10_seconds() {
    let mut harness = Harness::open();
    let (channel, mut outcome) = harness.subscribe("realtime:a");
    let events = harness.listen(channel, EventFilter::Statuses);
    let rejection_error = json!({ "reason": "Unauthorized: no" });
    harness.actions();

    for (failure, wait) in [1000, 2000, 5000, 10_000, 10_000].into_iter().enumerate() {
        harness.reply_to_join("realtime:a", "error", rejection_error.clone());
        assert_eq!(harness.actions(), [""; 0], "after failure {failure}");
        harness.advance(wait - 1);
        assert!(
            !harness
                .actions()
                .iter()
                .any(|action| action.starts_with("phx_join"))
        );
        harness.advance(1);
        let actions = harness.actions();
        assert!(
            actions.iter().any(|action| action.starts_with("phx_join")),
            "{actions:?}"
        );
    }
    assert!(matches!(
        outcome.try_recv(),
        Ok(Err(RealtimeError::Rejected(why))) if why == "Unauthorized: no"
    ));
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"; 5]);

    // A good join begins the ladder anew.
    harness.reply_to_join("realtime:a", "ok", json!({}));
    assert_eq!(statuses(&events), ["SUBSCRIBED"]);
    let join_ref = harness
        .protocol
        .channel(channel)
        .unwrap()
        .join_ref()
        .unwrap()
        .to_owned();
    harness.receive(json!([join_ref, join_ref, "realtime:a", "phx_error", {}]));
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"]);
    harness.actions();
    harness.advance(1000);
    assert!(harness.actions()[0].starts_with("phx_join realtime:a"));
}

#[test]
fn a_new_connection_resets_the_backoff_of_joins() {
    let mut harness = Harness::open();
    let (_, _outcome) = harness.subscribe("realtime:a");
    for wait in [1000, 2000] {
        harness.reply_to_join("realtime:a", "error", json!({}));
        harness.advance(wait);
    }
    harness.protocol.lost(harness.now, "reset");
    harness.advance(1000);
    harness.protocol.opened(harness.now);
    harness
        .protocol
        .token_received(harness.now, Ok("token".to_owned()));
    harness.reply_to_join("realtime:a", "error", json!({}));
    harness.actions();

    harness.advance(999);
    assert_eq!(harness.actions(), [""; 0]);
    harness.advance(1);
    assert_eq!(harness.actions().len(), 1);
}

#[test]
fn a_join_without_a_reply_is_left_and_retried() {
    let mut harness = Harness::open();
    let (channel, mut outcome) = harness.subscribe("realtime:a");
    let events = harness.listen(channel, EventFilter::Statuses);
    assert_eq!(harness.actions(), ["phx_join realtime:a 1 1"]);

    harness.advance(9_999);
    assert!(outcome.try_recv().is_err());
    harness.advance(1);
    assert!(matches!(
        outcome.try_recv(),
        Ok(Err(RealtimeError::TimedOut))
    ));
    assert_eq!(harness.actions(), ["phx_leave realtime:a 2 1"]);
    assert_eq!(statuses(&events), ["TIMED_OUT"]);
    harness.advance(1000);
    assert_eq!(harness.actions(), ["phx_join realtime:a 3 3"]);

    // The first join's reply comes at last, and is not this one's.
    harness
        .receive(json!(["1", "1", "realtime:a", "phx_reply", { "status": "ok", "response": {} }]));
    assert!(!harness.protocol.channel(channel).unwrap().is_joined());
}

#[test]
fn k14_a_lost_connection_is_made_anew_and_channels_join_again() {
    let (mut harness, channel) = Harness::joined();
    let events = harness.listen(channel, EventFilter::Statuses);

    harness.protocol.lost(0, "reset");
    assert_eq!(harness.protocol.state(), ConnectionState::Connecting);
    assert_eq!(harness.actions(), [""; 0]);
    for wait in [1000, 2000, 5000, 10_000, 10_000] {
        harness.advance(wait - 1);
        assert_eq!(harness.actions(), [""; 0]);
        harness.advance(1);
        assert_eq!(harness.actions(), ["connect", "token?"]);
        harness.protocol.lost(harness.now, "refused");
    }
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"]);

    harness.advance(10_000);
    harness.actions();
    harness.protocol.opened(harness.now);
    harness
        .protocol
        .token_received(harness.now, Ok("token".to_owned()));
    assert_eq!(harness.actions().len(), 1);
    harness.reply_to_join("realtime:a", "ok", json!({}));
    assert_eq!(statuses(&events), ["SUBSCRIBED"]);

    // The ladder of connections begins anew, too.
    harness.actions();
    harness.protocol.lost(harness.now, "reset");
    harness.advance(1000);
    assert_eq!(harness.actions(), ["connect", "token?"]);
}

#[test]
fn subscribing_without_a_connection_fails_with_the_reason() {
    let mut harness = Harness::new();
    let (_, mut outcome) = harness.subscribe("realtime:a");
    harness.actions();
    harness.protocol.lost(0, "Token has expired (status 401)");

    let Ok(Err(error)) = outcome.try_recv() else {
        panic!("no outcome");
    };
    assert!(error.to_string().contains("Token has expired"), "{error}");

    // Others do not make it hurry.
    let (_, _outcome) = harness.subscribe("realtime:b");
    assert_eq!(harness.actions(), [""; 0]);
    harness.advance(1000);
    assert_eq!(harness.actions(), ["connect", "token?"]);
}

#[test]
fn k14_heartbeats_are_sent_every_25_seconds_and_silence_ends_the_connection() {
    let (mut harness, channel) = Harness::joined();
    let statuses_of = harness.listen(channel, EventFilter::Statuses);
    let (queue, beats) = queue(QueueLimits::default());
    harness.protocol.subscribe_to_heartbeats(queue);
    let received = || {
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        let mut received = Vec::new();
        while let Poll::Ready(Some(Ok(beat))) = beats.poll(&mut context) {
            received.push(beat);
        }
        received
    };

    harness.advance(24_999);
    assert_eq!(harness.actions(), [""; 0]);
    harness.advance(1);
    assert_eq!(harness.actions(), ["heartbeat phoenix 2 -", "token?"]);
    harness.now += 7;
    harness.receive(json!([null, "2", "phoenix", "phx_reply", { "status": "ok", "response": {} }]));
    assert_eq!(
        received(),
        [Heartbeat::Sent, Heartbeat::Ok { latency_ms: 7 }]
    );

    harness.advance(25_000);
    assert_eq!(harness.actions()[0], "heartbeat phoenix 3 -");
    // a response to another one is none.
    harness.receive(json!([null, "2", "phoenix", "phx_reply", { "status": "ok" }]));
    harness.advance(25_000);
    assert_eq!(harness.actions(), ["close: heartbeat timeout"]);
    assert_eq!(
        received(),
        [
            Heartbeat::Sent,
            Heartbeat::TimedOut,
            Heartbeat::Disconnected
        ]
    );
    assert_eq!(statuses(&statuses_of), ["CHANNEL_ERROR"]);
    harness.advance(1000);
    assert_eq!(harness.actions(), ["connect", "token?"]);
}

#[test]
fn a_new_token_is_sent_to_every_joined_channel_once() {
    let (mut harness, _room) = Harness::joined();
    let (_, _waiting) = harness.subscribe("realtime:b");
    harness.actions();

    harness.protocol.token_received(0, Ok("token".to_owned()));
    assert_eq!(harness.actions(), [""; 0]);
    harness.protocol.token_received(0, Ok("other".to_owned()));
    assert_eq!(harness.payloads(), [json!({ "access_token": "other" })]);
    harness.protocol.token_received(0, Ok("other".to_owned()));
    assert_eq!(harness.actions(), [""; 0]);
}

#[test]
fn a_token_of_the_callers_stays_until_they_take_it_back() {
    let (mut harness, _room) = Harness::joined();

    harness.protocol.set_token(0, Some("mine".to_owned()));
    assert_eq!(harness.payloads(), [json!({ "access_token": "mine" })]);
    harness.protocol.token_received(0, Ok("session".to_owned()));
    harness.advance(25_000);
    assert_eq!(harness.actions(), ["heartbeat phoenix 3 -"]);
    harness.protocol.set_token(0, None);
    assert_eq!(harness.actions(), ["token?"]);
    harness.protocol.token_received(0, Ok("session".to_owned()));
    assert_eq!(harness.payloads(), [json!({ "access_token": "session" })]);
}

#[test]
fn no_anonymous_join_when_the_session_cannot_be_refreshed() {
    let mut harness = Harness::new();
    let (_, mut first) = harness.subscribe("realtime:a");
    let (_, mut second) = harness.subscribe("realtime:b");
    harness.actions();
    harness.protocol.opened(0);
    harness
        .protocol
        .token_received(0, Err(AuthError::SessionMissing));

    for outcome in [&mut first, &mut second] {
        assert!(matches!(
            outcome.try_recv(),
            Ok(Err(RealtimeError::Auth(_)))
        ));
    }
    assert_eq!(harness.actions(), [""; 0]);
    harness.advance(1000);
    assert_eq!(harness.actions(), ["token?"]);
    harness
        .protocol
        .token_received(harness.now, Ok("t".to_owned()));
    assert_eq!(
        harness.actions(),
        ["phx_join realtime:a 1 1", "phx_join realtime:b 2 2"]
    );
    // One that was good stays in use.
    harness
        .protocol
        .token_received(harness.now, Err(AuthError::SessionMissing));
    assert!(matches!(harness.protocol.token, Token::Known(_)));
}

#[test]
fn messages_of_an_earlier_join_are_ignored() {
    let (mut harness, channel) = Harness::joined();
    let events = harness.listen(channel, EventFilter::Everything);
    let said = json!({ "type": "broadcast", "event": "e", "payload": 1 });

    harness.receive(json!(["99", null, "realtime:a", "broadcast", said]));
    harness.receive(json!(["99", "99", "realtime:a", "phx_close", {}]));
    harness.receive(json!([null, "99", "realtime:a", "phx_close", {}]));
    harness.receive(json!([null, null, "realtime:other", "broadcast", said]));
    assert!(drain(&events).is_empty());

    harness.receive(json!([null, null, "realtime:a", "broadcast", said]));
    harness.receive(json!(["1", null, "realtime:a", "broadcast", said]));
    assert_eq!(drain(&events).len(), 2);
}

#[test]
fn streams_receive_what_they_are_about() {
    let (mut harness, channel) = Harness::joined();
    let named = harness.listen(channel, EventFilter::Broadcasts("Cursor".to_owned()));
    let any = harness.listen(channel, EventFilter::Broadcasts("*".to_owned()));
    let system = harness.listen(channel, EventFilter::System);
    let changes = harness.listen(channel, EventFilter::Changes(0));

    for event in ["cursor", "other"] {
        let said = json!({ "type": "broadcast", "event": event, "payload": {} });
        harness.receive(json!([null, null, "realtime:a", "broadcast", said]));
    }
    for (extension, status) in [("system", "error"), ("postgres_changes", "ok")] {
        let said = json!({ "extension": extension, "status": status, "message": "m" });
        harness.receive(json!(["1", null, "realtime:a", "system", said]));
    }
    assert_eq!(drain(&named).len(), 1);
    assert_eq!(drain(&any).len(), 2);
    assert_eq!(drain(&system).len(), 2);
    assert!(drain(&changes).is_empty());

    let rejected = json!({ "extension": "postgres_changes", "status": "error", "message": "m" });
    harness.receive(json!(["1", null, "realtime:a", "system", rejected]));
    assert_eq!(drain(&changes).len(), 1);
}

#[test]
fn the_server_ends_a_channel_for_good() {
    let (mut harness, channel) = Harness::joined();
    let events = harness.listen(channel, EventFilter::Everything);

    harness.receive(json!(["1", "1", "realtime:a", "phx_close", {}]));

    assert_eq!(statuses(&events), ["CLOSED"]);
    let waker = noop_waker();
    assert!(matches!(
        events.poll(&mut Context::from_waker(&waker)),
        Poll::Ready(None)
    ));
    let mut again = harness.subscribe_channel(channel);
    assert!(matches!(again.try_recv(), Ok(Err(RealtimeError::Closed))));
    harness.advance(20_000);
    assert_eq!(harness.actions(), [""; 0]);
}

#[test]
fn leaving_is_said_and_not_waited_for_and_the_connection_ends_a_while_later() {
    let (mut harness, channel) = Harness::joined();
    harness.protocol.leave(0, channel);
    assert_eq!(harness.actions(), ["phx_leave realtime:a 2 1"]);

    // A subscriber may come back in time.
    harness.advance(20_000);
    let (channel, _outcome) = harness.subscribe("realtime:a");
    harness.protocol.leave(harness.now, channel);
    harness.actions();
    harness.now += 49_999;
    harness.protocol.pending_heartbeat = None;
    harness.protocol.heartbeat_due = i64::MAX;
    harness.protocol.handle_timers(harness.now);
    assert_eq!(harness.actions(), [""; 0]);
    harness.advance(1);
    assert_eq!(harness.actions(), ["close: disconnected"]);
    assert_eq!(harness.protocol.state(), ConnectionState::Closed);
    harness.advance(60_000);
    assert_eq!(harness.actions(), [""; 0]);
}

#[test]
fn a_closed_connection_is_not_reopened_until_it_is_needed() {
    let (mut harness, channel) = Harness::joined();
    let events = harness.listen(channel, EventFilter::Statuses);
    harness.protocol.disconnect(0);
    assert_eq!(harness.actions(), ["close: disconnected"]);
    assert_eq!(statuses(&events), ["CHANNEL_ERROR"]);
    harness.advance(60_000);
    assert_eq!(harness.actions(), [""; 0]);

    harness.protocol.connect();
    harness.protocol.opened(harness.now);
    harness
        .protocol
        .token_received(harness.now, Ok("token".to_owned()));
    assert_eq!(
        harness.actions(),
        ["connect", "token?", "phx_join realtime:a 2 2"]
    );
}

#[test]
fn messages_wait_for_their_replies_until_the_timeout() {
    let (mut harness, channel) = Harness::joined();
    let push = |harness: &mut Harness| {
        let (waiter, outcome) = oneshot::channel();
        let body = Body::Json(json!({}));
        harness
            .protocol
            .push(harness.now, channel, "presence", body, Some(waiter))
            .unwrap();
        outcome
    };
    let reply = |reference: &str, status: &str, response: Value| {
        let reply = json!({ "status": status, "response": response });
        json!(["1", reference, "realtime:a", "phx_reply", reply])
    };

    let mut good = push(&mut harness);
    let mut bad = push(&mut harness);
    let mut late = push(&mut harness);
    assert_eq!(harness.actions().len(), 3);
    harness.receive(reply("3", "error", json!({ "reason": "no", "n": 1 })));
    harness.receive(reply("2", "ok", json!({})));
    assert!(matches!(good.try_recv(), Ok(Ok(()))));
    let Ok(Err(RealtimeError::Rejected(why))) = bad.try_recv() else {
        panic!("not rejected");
    };
    assert!(why.contains("no"), "{why}");
    harness.advance(10_000);
    assert!(matches!(late.try_recv(), Ok(Err(RealtimeError::TimedOut))));

    let other = harness.add("realtime:b");
    let mut unanswered = push(&mut harness);
    harness.protocol.leave(harness.now, other);
    assert!(unanswered.try_recv().is_err());

    let mut lost = push(&mut harness);
    harness.protocol.lost(harness.now, "reset");
    assert!(matches!(
        lost.try_recv(),
        Ok(Err(RealtimeError::Disconnected(_)))
    ));
    let body = Body::Broadcast {
        event: "e".to_owned(),
        payload: Payload::Json("1".into()),
    };
    let rejected = harness
        .protocol
        .push(harness.now, channel, "broadcast", body, None);
    assert!(matches!(rejected, Err(RealtimeError::NotSubscribed)));
}

#[test]
fn pending_replies_fail_when_the_channel_is_left() {
    let (mut harness, channel) = Harness::joined();
    let (waiter, mut outcome) = oneshot::channel();
    let body = Body::Json(json!({}));
    harness
        .protocol
        .push(0, channel, "presence", body, Some(waiter))
        .unwrap();

    harness.protocol.leave(0, channel);

    assert!(matches!(outcome.try_recv(), Ok(Err(RealtimeError::Closed))));
}

#[test]
fn senders_wait_when_the_connection_does_not_keep_up() {
    let (mut harness, channel) = Harness::joined();
    let mut sent = 0;
    while harness.protocol.has_capacity() {
        let body = Body::Json(json!({}));
        harness
            .protocol
            .push(0, channel, "presence", body, None)
            .unwrap();
        sent += 1;
    }
    assert_eq!(sent, MAX_QUEUED_MESSAGES);

    harness.protocol.next_action();
    assert!(harness.protocol.has_capacity());
    harness.protocol.lost(0, "reset");
    assert_eq!(
        (
            harness.protocol.actions.len(),
            harness.protocol.queued_messages
        ),
        (0, 0)
    );
}

#[test]
fn presence_is_followed_only_by_those_who_asked_for_it() {
    let mut harness = Harness::open();
    let channel = harness.add("realtime:a");
    let presence = harness.listen(channel, EventFilter::Presence);
    let deaf = harness.add("realtime:b");
    let _outcomes = (
        harness.subscribe_channel(channel),
        harness.subscribe_channel(deaf),
    );
    let diff = json!({ "joins": { "k": { "metas": [{ "phx_ref": "r" }] } }, "leaves": {} });
    for topic in ["realtime:a", "realtime:b"] {
        harness.reply_to_join(topic, "ok", json!({}));
        harness.receive(json!([null, null, topic, "presence_diff", diff]));
    }
    assert!(drain(&presence).is_empty());
    harness.receive(json!(["1", null, "realtime:a", "presence_state", {}]));

    let events = drain(&presence);
    assert!(matches!(
        &events[..],
        [
            ChannelEvent::Presence(PresenceEvent::Join { key, .. }),
            ChannelEvent::Presence(PresenceEvent::Sync),
        ] if key == "k"
    ));
    assert!(harness.protocol.presence(channel).contains_key("k"));
    assert!(harness.protocol.presence(deaf).is_empty());

    // Some servers have presence on for all clients.
    harness.receive(json!(["2", null, "realtime:b", "presence_state", {}]));
    harness.receive(json!([null, null, "realtime:b", "presence_diff", diff]));
    assert!(harness.protocol.presence(deaf).contains_key("k"));

    let late = queue(QueueLimits::default());
    let late = Subscriber {
        filter: EventFilter::Presence,
        queue: late.0,
    };
    let rejected = harness.protocol.channel(deaf).unwrap().listen(late);
    assert!(matches!(rejected, Err(RealtimeError::InvalidInput(_))));
}

#[test]
fn differences_of_a_lost_join_do_not_wait_for_the_next_picture() {
    let mut harness = Harness::open();
    let channel = harness.add("realtime:a");
    let _presence = harness.listen(channel, EventFilter::Presence);
    let _outcome = harness.subscribe_channel(channel);
    harness.reply_to_join("realtime:a", "ok", json!({}));
    let diff = json!({ "joins": { "k": { "metas": [{ "phx_ref": "r" }] } }, "leaves": {} });
    harness.receive(json!([null, null, "realtime:a", "presence_diff", diff]));
    harness.protocol.lost(harness.now, "reset");
    harness.advance(1000);
    harness.protocol.opened(harness.now);
    harness
        .protocol
        .token_received(harness.now, Ok("token".to_owned()));
    harness.reply_to_join("realtime:a", "ok", json!({}));

    harness.receive(json!([null, null, "realtime:a", "presence_state", {}]));

    assert!(harness.protocol.presence(channel).is_empty());
}

mod changes {
    use super::*;
    use crate::realtime::changes::{BindingRequest, Event};

    fn request(event: Event, filter: Option<&str>) -> BindingRequest {
        BindingRequest {
            event,
            schema: Some("public".to_owned()),
            table: Some("t".to_owned()),
            filter: filter.map(str::to_owned),
            select: Vec::new(),
        }
    }

    fn confirmed(id: i64, event: &str, filter: Option<&str>) -> Value {
        json!({ "id": id, "event": event, "schema": "public", "table": "t", "filter": filter })
    }

    /// A channel that asks for all changes and for inserts of some rows.
    fn subscribed() -> (Harness, ChannelId, [Reader<ChannelEvent>; 3], Outcome) {
        let mut harness = Harness::open();
        let channel = harness.add("realtime:a");
        let bind = |harness: &mut Harness, request| {
            harness
                .protocol
                .channel(channel)
                .unwrap()
                .bind(request)
                .unwrap()
        };
        let all = bind(&mut harness, request(Event::All, None));
        let some = bind(&mut harness, request(Event::Insert, Some("id=eq.1")));
        let readers = [
            harness.listen(channel, EventFilter::Changes(all)),
            harness.listen(channel, EventFilter::Changes(some)),
            harness.listen(channel, EventFilter::Everything),
        ];
        let outcome = harness.subscribe_channel(channel);
        (harness, channel, readers, outcome)
    }

    fn change(ids: &[i64], kind: &str) -> Value {
        let data = json!({ "type": kind, "schema": "public", "table": "t", "record": { "id": 1 } });
        json!([null, null, "realtime:a", "postgres_changes", { "ids": ids, "data": data }])
    }

    fn count(reader: &Reader<ChannelEvent>) -> usize {
        let events = drain(reader);
        let changes = events
            .iter()
            .filter(|event| matches!(event, ChannelEvent::Change(_)));
        changes.count()
    }

    #[test]
    fn changes_reach_those_whose_entry_the_server_names() {
        let (mut harness, _, [all, some, everything], mut outcome) = subscribed();
        let confirmed = [
            confirmed(7, "*", None),
            confirmed(8, "INSERT", Some("id=eq.1")),
        ];
        harness.reply_to_join("realtime:a", "ok", json!({ "postgres_changes": confirmed }));
        assert!(matches!(outcome.try_recv(), Ok(Ok(()))));

        harness.receive(change(&[7, 8], "INSERT"));
        harness.receive(change(&[7], "UPDATE"));
        harness.receive(change(&[8], "UPDATE"));
        harness.receive(change(&[9], "INSERT"));
        assert_eq!((count(&all), count(&some), count(&everything)), (2, 1, 2));
    }

    #[test]
    fn a_server_that_agrees_to_something_else_is_left() {
        for other in [
            json!([confirmed(7, "*", None)]),
            json!([
                confirmed(8, "INSERT", Some("id=eq.1")),
                confirmed(7, "*", None)
            ]),
            json!([]),
        ] {
            let (mut harness, channel, [_, _, events], mut outcome) = subscribed();
            harness.actions();
            harness.reply_to_join("realtime:a", "ok", json!({ "postgres_changes": other }));

            assert!(matches!(
                outcome.try_recv(),
                Ok(Err(RealtimeError::BindingMismatch))
            ));
            assert_eq!(harness.actions(), ["phx_leave realtime:a 2 1"]);
            assert_eq!(statuses(&events), ["CHANNEL_ERROR", "CLOSED"]);
            assert!(harness.protocol.channel(channel).is_none());
        }
    }

    #[test]
    fn more_cannot_be_asked_for_later() {
        let (mut harness, channel, _readers, _outcome) = subscribed();
        let channel = harness.protocol.channel(channel).unwrap();

        assert_eq!(channel.bind(request(Event::All, None)).unwrap(), 0);
        let rejected = channel.bind(request(Event::Delete, None));
        assert!(matches!(rejected, Err(RealtimeError::InvalidInput(_))));
    }
}

#[test]
fn rejections_carry_the_text_of_the_reply() {
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
        let (mut harness, channel) = Harness::joined();
        let _events = harness.listen(channel, EventFilter::Everything);
        for (event, reference, wait) in frames {
            let events = [
                "phx_reply", "phx_close", "phx_error", "presence_state", "presence_diff",
                "postgres_changes", "system", "broadcast", "what",
            ];
            let reference = [json!(null), json!("1"), json!("2"), json!("99")][reference].clone();
            let payload = json!({ "status": "ok", "response": {}, "joins": {}, "ids": [1] });
            harness.receive(json!([reference, reference, "realtime:a", events[event], payload]));
            if wait % 7 == 0 {
                harness.protocol.lost(harness.now, "x");
            }
            if wait % 5 == 0 {
                harness.protocol.opened(harness.now);
            }
            harness.advance(wait);
            let deadline = harness.protocol.deadline();
            proptest::prop_assert!(deadline.is_none_or(|at| at > harness.now));
        }
    }
}
