//! Broadcasts over the socket and over HTTP.

use bytes::Bytes;
use futures_util::TryStreamExt;
use plinth_client::RealtimeError;
use plinth_client::realtime::{
    Broadcasts, ChannelEvent, ConnectionState, Event, RealtimeOptions, Status, Vsn, pg,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{Live, TEST_TIMEOUT, next};

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Cursor {
    x: i32,
}

async fn next_json(stream: &mut Broadcasts) -> Value {
    next(stream).await.json().expect("JSON")
}

#[tokio::test]
async fn a_broadcast_reaches_others_in_order_and_not_its_sender() {
    let live = Live::start().await;
    let (ann, bob) = (live.client(), live.client());
    let speaking = ann.channel("room").ack(true).build().unwrap();
    let listening = bob.channel("room").build().unwrap();
    let mut own = speaking.on_broadcast("*");
    let mut cursors = listening.on_broadcast("cursor");
    let mut all = listening.subscribe().await.unwrap();
    speaking.subscribe().await.unwrap();

    for x in 0..50 {
        speaking.send("cursor", &Cursor { x }).await.unwrap();
    }
    for x in 0..50 {
        let cursor: Cursor = next(&mut cursors).await.json().unwrap();
        assert_eq!(cursor, Cursor { x });
    }
    assert!(matches!(
        next(&mut all).await,
        ChannelEvent::Status(Status::Subscribed)
    ));
    assert!(matches!(next(&mut all).await, ChannelEvent::Broadcast(_)));

    // The first message that the sender receives is the other's reply.
    listening.send("answer", &"yes").await.unwrap();
    let received_events = next(&mut own).await;
    assert_eq!(
        (
            received_events.event.as_str(),
            received_events.json::<String>().unwrap()
        ),
        ("answer", "yes".into())
    );
    assert_eq!(received_events.meta, None);
}

#[tokio::test]
async fn bytes_arrive_as_they_were_sent_and_at_the_sender_if_wanted() {
    let live = Live::start().await;
    let client = live.client();
    let channel = client
        .channel("ü room")
        .broadcast_self(true)
        .build()
        .unwrap();
    let mut received_events = channel.on_broadcast("*");
    channel.subscribe().await.unwrap();

    let bytes = Bytes::from((0..=255).collect::<Vec<u8>>());
    channel.send_bytes("raw", bytes.clone()).await.unwrap();
    channel.send_bytes("none", Vec::new()).await.unwrap();
    channel.send("null", &()).await.unwrap();

    let raw = next(&mut received_events).await;
    assert_eq!(raw.bytes(), Some(&bytes));
    assert!(raw.json::<Value>().is_err());
    assert_eq!(
        next(&mut received_events).await.bytes(),
        Some(&Bytes::new())
    );
    assert_eq!(next_json(&mut received_events).await, json!({}));

    let long = "e".repeat(256);
    let rejected = channel.send_bytes(&long, "x").await;
    assert!(matches!(rejected, Err(RealtimeError::InvalidInput(_))));
    channel.send(&long, &1).await.unwrap();
    assert_eq!(next(&mut received_events).await.event, long);
}

#[tokio::test]
async fn both_versions_of_the_protocol_understand_each_other() {
    let live = Live::start().await;
    let options = RealtimeOptions::new().vsn(Vsn::V1);
    let old = live.client_talking(options);
    let old = old.channel("room").ack(true).build().unwrap();
    let new = live.client().channel("room").ack(true).build().unwrap();
    let (mut by_old, mut by_new) = (old.on_broadcast("*"), new.on_broadcast("*"));
    old.subscribe().await.unwrap();
    new.subscribe().await.unwrap();

    new.send("e", &json!({ "n": 1 })).await.unwrap();
    // What the first version has no form for does not arrive there.
    new.send_bytes("raw", "x").await.unwrap();
    new.send("e", &json!({ "n": 2 })).await.unwrap();
    old.send("e", &json!({ "n": 3 })).await.unwrap();

    assert_eq!(next_json(&mut by_old).await, json!({ "n": 1 }));
    assert_eq!(next_json(&mut by_old).await, json!({ "n": 2 }));
    assert_eq!(next_json(&mut by_new).await, json!({ "n": 3 }));
    let rejected = old.send_bytes("raw", "x").await;
    assert!(matches!(rejected, Err(RealtimeError::InvalidInput(_))));
}

#[tokio::test]
async fn broadcasts_over_http_need_no_subscription() {
    let live = Live::start().await;
    let listening = live.client().channel("a/b c").build().unwrap();
    let mut received_events = listening.on_broadcast("*");
    listening.subscribe().await.unwrap();
    let client = live.client();
    let speaking = client.channel("a/b c").build().unwrap();

    speaking
        .send_http("e ü", &json!({ "n": 1 }))
        .send()
        .await
        .unwrap();
    speaking.send_http_bytes("raw", "x").send().await.unwrap();

    let said = next(&mut received_events).await;
    assert_eq!(
        (said.event.as_str(), said.json().unwrap()),
        ("e ü", json!({ "n": 1 }))
    );
    assert_eq!(
        next(&mut received_events).await.bytes(),
        Some(&Bytes::from("x"))
    );
    assert_eq!(client.realtime().state(), ConnectionState::Closed);
    let unsubscribed = speaking.send("e", &1).await;
    assert!(matches!(unsubscribed, Err(RealtimeError::NotSubscribed)));

    let private = live.client().channel("secret").private().build().unwrap();
    let rejected = private.send_http("e", &json!({})).send().await;
    assert!(matches!(
        rejected,
        Err(RealtimeError::Http { status: 403, message }) if message == "Unauthorized"
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_when_many_send_at_once() {
    let live = Live::start().await;
    let listening = live.client().channel("room").build().unwrap();
    let mut received_events = listening.on_broadcast("*");
    listening.subscribe().await.unwrap();
    let speaking = live.client().channel("room").ack(true).build().unwrap();
    speaking.subscribe().await.unwrap();

    let speakers = (0..8).map(|speaker| {
        let channel = speaking.clone();
        tokio::spawn(async move {
            for n in 0..100 {
                channel.send("e", &(speaker, n)).await.expect("taken");
            }
        })
    });
    for speaker in speakers.collect::<Vec<_>>() {
        speaker.await.unwrap();
    }

    // Each speaker's words keep their order.
    let mut next_of = [0; 8];
    for _ in 0..800 {
        let (speaker, n): (usize, i32) = next(&mut received_events).await.json().unwrap();
        assert_eq!(n, next_of[speaker]);
        next_of[speaker] += 1;
    }
    assert_eq!(next_of, [100; 8]);
}

#[tokio::test]
async fn a_slow_reader_loses_the_oldest_and_is_notified() {
    let live = Live::start().await;
    let options = RealtimeOptions::new().buffer(10, 1_000_000);
    let slow = live.client_talking(options);
    let slow = slow.channel("room").build().unwrap();
    let mut received_events = slow.on_broadcast("e");
    slow.subscribe().await.unwrap();
    let mut done = slow.on_broadcast("done");
    let speaking = live.client().channel("room").ack(true).build().unwrap();
    speaking.subscribe().await.unwrap();

    for n in 0..100 {
        speaking.send("e", &n).await.unwrap();
    }
    speaking.send("done", &1).await.unwrap();
    next(&mut done).await;

    let lagged = received_events.try_next().await;
    assert!(matches!(lagged, Err(RealtimeError::Lagged { missed: 90 })));
    for n in 90..100 {
        assert_eq!(next_json(&mut received_events).await, json!(n));
    }
}

#[tokio::test]
async fn a_name_is_one_channel_and_its_end_is_final() {
    let live = Live::start().await;
    let client = live.client();
    let channel = client.channel("room").build().unwrap();
    let same = client.channel("room").build().unwrap();
    assert_eq!(client.channels().len(), 1);
    let other = client.channel("room").private().build();
    assert!(matches!(other, Err(RealtimeError::InvalidInput(_))));
    assert!(client.channel("").build().is_err());

    let mut events = channel.subscribe().await.unwrap();
    assert!(same.is_subscribed());
    client.remove_channel(&same);
    assert!(matches!(
        next(&mut events).await,
        ChannelEvent::Status(Status::Subscribed)
    ));
    assert!(matches!(
        next(&mut events).await,
        ChannelEvent::Status(Status::Closed)
    ));
    assert!(events.try_next().await.unwrap().is_none());
    assert!(matches!(
        channel.subscribe().await,
        Err(RealtimeError::Closed)
    ));
    assert!(matches!(
        channel.send("e", &1).await,
        Err(RealtimeError::Closed)
    ));

    // The name is free again, on the same connection.
    let again = client.channel("room").broadcast_self(true).build().unwrap();
    let mut received_events = again.on_broadcast("e");
    again.subscribe().await.unwrap();
    again.send("e", &1).await.unwrap();
    next(&mut received_events).await;
    client.remove_all_channels();
    assert!(client.channels().is_empty());
    assert_eq!(client.realtime().state(), ConnectionState::Closed);
}

#[tokio::test]
async fn a_server_without_row_changes_reports_an_error() {
    let live = Live::start().await;
    let channel = live.client().channel("changes").build().unwrap();
    let mut changes = channel
        .on_postgres(Event::All)
        .schema("public")
        .table("no_such_table")
        .filter(pg::eq("id", 1))
        .listen::<Value>()
        .unwrap();
    let mut system = channel.on_system();
    channel.subscribe().await.unwrap();

    let said = next(&mut system).await;
    assert_eq!(
        (said.extension.as_str(), said.is_ok()),
        ("postgres_changes", false)
    );
    let reported = tokio::time::timeout(TEST_TIMEOUT, changes.try_next()).await;
    let Ok(Err(RealtimeError::Rejected(why))) = reported else {
        panic!("{reported:?}");
    };
    assert_eq!(why, said.message);
    let late = channel.on_postgres(Event::Insert).table("other");
    assert!(matches!(
        late.listen::<Value>(),
        Err(RealtimeError::InvalidInput(_))
    ));
}
