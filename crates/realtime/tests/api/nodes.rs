//! Several nodes over a real broker (§14.5, §14.6).

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::support::{NatsServer, SECRET_KEY, Socket, TestRealtime};

const NOTES: &str = "create table public.notes (id int primary key, body text);
    grant select on public.notes to anon, authenticated, service_role";

async fn two_nodes(nats: &NatsServer) -> (TestRealtime, TestRealtime) {
    let one = TestRealtime::node(nats).await;
    let other = one.another(nats).await;
    (one, other)
}

fn broadcast(n: u64) -> Value {
    let payload = json!({"type": "broadcast", "event": "e", "payload": {"n": n}});
    json!(["1", "2", "realtime:r", "broadcast", payload])
}

/// The number of the next broadcast.
async fn number(socket: &mut Socket) -> u64 {
    let frame = socket.next().await;
    assert_eq!(frame[3], "broadcast", "{frame}");
    frame[4]["payload"]["n"].as_u64().expect("a number")
}

async fn join_with_presence(socket: &mut Socket, key: &str) -> Value {
    let config = json!({"config": {"presence": {"enabled": true, "key": key}}});
    let answer = socket.join("1", "realtime:r", config).await;
    assert_eq!(answer["status"], "ok", "{answer}");
    let state = socket.next().await;
    assert_eq!(state[3], "presence_state", "{state}");
    state[4].clone()
}

fn track(n: u64) -> Value {
    let payload = json!({"type": "presence", "event": "track", "payload": {"n": n}});
    json!(["1", "9", "realtime:r", "presence", payload])
}

/// The next news of who is present, past the answers to calls.
async fn diff(socket: &mut Socket) -> Value {
    loop {
        let frame = socket.next().await;
        match frame[3].as_str() {
            Some("presence_diff") => return frame[4].clone(),
            Some("phx_reply") => {}
            _ => panic!("{frame}"),
        }
    }
}

#[tokio::test]
async fn a_broadcast_reaches_the_other_node_and_its_sender_never_twice() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.enter("1", "realtime:r").await;
    bob.enter("1", "realtime:r").await;

    for n in 0..20 {
        ann.send(broadcast(n)).await;
    }
    for n in 0..20 {
        assert_eq!(number(&mut bob).await, n);
    }
    bob.send(broadcast(99)).await;
    assert_eq!(number(&mut ann).await, 99);
    ann.is_silent().await;
    bob.is_silent().await;
}

#[tokio::test]
async fn large_messages_travel_in_parts() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.enter("1", "realtime:r").await;
    bob.enter("1", "realtime:r").await;

    let text = "x".repeat(2_500_000);
    let payload = json!({"type": "broadcast", "event": "e", "payload": {"text": text}});
    ann.send(json!(["1", "2", "realtime:r", "broadcast", payload]))
        .await;
    ann.send(broadcast(1)).await;

    let frame = bob.next().await;
    assert_eq!(
        frame[4]["payload"]["text"].as_str().map(str::len),
        Some(2_500_000)
    );
    assert_eq!(number(&mut bob).await, 1);
}

#[tokio::test]
async fn what_servers_say_on_one_node_reaches_topics_that_only_another_has() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let mut bob = other.socket().await;
    bob.enter("1", "realtime:r").await;

    let messages = json!({"messages": [
        {"topic": "r", "event": "e", "payload": {"n": 1}},
        {"topic": "s", "event": "e", "payload": {"n": 2}},
    ]});
    let key = ("apikey", SECRET_KEY);
    let sent = one
        .post("/api/broadcast", &[key], messages.to_string())
        .await;
    assert_eq!(sent.status, StatusCode::ACCEPTED);

    match bob.message().await {
        Message::Text(text) => assert!(text.contains("\"n\":1"), "{text}"),
        Message::Binary(bytes) => assert!(bytes.ends_with(b"{\"n\":1}"), "{bytes:?}"),
        message => panic!("{message:?}"),
    }
    bob.is_silent().await;
}

#[tokio::test]
async fn presence_is_the_same_on_all_nodes() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    assert_eq!(join_with_presence(&mut ann, "ann").await, json!({}));
    ann.send(track(1)).await;
    assert_eq!(diff(&mut ann).await["joins"]["ann"]["metas"][0]["n"], 1);

    // Whoever comes later is told of everybody.
    let state = join_with_presence(&mut bob, "bob").await;
    assert_eq!(state["ann"]["metas"][0]["n"], 1, "{state}");
    bob.send(track(2)).await;
    for socket in [&mut ann, &mut bob] {
        assert_eq!(diff(socket).await["joins"]["bob"]["metas"][0]["n"], 2);
    }

    // An update names what it replaces, there too.
    ann.send(track(3)).await;
    let updated = diff(&mut bob).await;
    assert_eq!(updated["joins"]["ann"]["metas"][0]["n"], 3);
    assert_eq!(updated["leaves"]["ann"]["metas"][0]["n"], 1);

    drop(ann);
    assert_eq!(diff(&mut bob).await["leaves"]["ann"]["metas"][0]["n"], 3);
}

#[tokio::test]
async fn whoever_was_on_a_node_that_ends_leaves_after_a_moment() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let mut bob = other.socket().await;
    join_with_presence(&mut bob, "bob").await;
    let mut ann = one.socket().await;
    join_with_presence(&mut ann, "ann").await;
    ann.send(track(1)).await;
    assert_eq!(diff(&mut bob).await["joins"]["ann"]["metas"][0]["n"], 1);

    one.service.finish().await;

    assert_eq!(diff(&mut bob).await["leaves"]["ann"]["metas"][0]["n"], 1);
}

#[tokio::test]
async fn row_changes_reach_subscribers_on_every_node_once() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    one.publish("public.notes", NOTES).await;
    let entries = json!([{"event": "*", "schema": "public", "table": "notes"}]);
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.subscribe("1", "realtime:r", entries.clone()).await;
    bob.subscribe("1", "realtime:r", entries).await;
    let slots = "select count(*) from pg_replication_slots where database = current_database()";
    assert_eq!(one.count(slots).await, 1);

    for id in 1..=10 {
        one.execute(&format!("insert into notes values ({id}, 'x')"))
            .await;
    }
    one.execute("alter table notes add extra int; insert into notes values (11, 'y', 7)")
        .await;

    for socket in [&mut ann, &mut bob] {
        for id in 1..=11 {
            assert_eq!(socket.record().await["id"], id);
        }
        socket.is_silent().await;
    }
}

#[tokio::test]
async fn messages_of_the_database_reach_every_node_once() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let ready = json!({"config": {"broadcast": {"replication_ready": true}}});
    let mut sockets = [one.socket().await, other.socket().await];
    for socket in &mut sockets {
        socket.join("1", "realtime:r", ready.clone()).await;
        let said = socket.next().await;
        assert_eq!(
            said[4]["message"], "Replication connection established",
            "{said}"
        );
    }

    one.execute("select realtime.send('{\"n\": 1}', 'e', 'r', false)")
        .await;

    for socket in &mut sockets {
        let Message::Binary(frame) = socket.message().await else {
            panic!("a binary frame");
        };
        assert!(frame.windows(6).any(|part| part == b"\"n\": 1"));
        socket.is_silent().await;
    }
}

#[tokio::test]
async fn another_node_takes_over_from_one_that_ends_and_nothing_is_lost() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    one.publish("public.notes", NOTES).await;
    let entries = json!([{"event": "*", "schema": "public", "table": "notes"}]);
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.subscribe("1", "realtime:r", entries.clone()).await;
    bob.subscribe("1", "realtime:r", entries).await;
    one.execute("insert into notes values (1)").await;
    assert_eq!(bob.record().await["id"], 1);

    let (ending, writing) = (one.service.finish(), async {
        for id in 2..=30 {
            other
                .execute(&format!("insert into notes values ({id})"))
                .await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    tokio::join!(ending, writing);

    for id in 2..=30 {
        assert_eq!(bob.record().await["id"], id);
    }
    bob.is_silent().await;
}

#[tokio::test]
async fn without_the_broker_every_node_serves_its_own_and_afterwards_all() {
    let mut nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let (mut ann, mut carl, mut bob) =
        (one.socket().await, one.socket().await, other.socket().await);
    join_with_presence(&mut ann, "ann").await;
    join_with_presence(&mut carl, "carl").await;
    join_with_presence(&mut bob, "bob").await;

    nats.kill();
    ann.send(broadcast(1)).await;
    assert_eq!(number(&mut carl).await, 1);
    ann.send(track(1)).await;
    assert_eq!(diff(&mut carl).await["joins"]["ann"]["metas"][0]["n"], 1);
    let mut late = one.socket().await;
    late.enter("1", "realtime:r").await;

    nats.resume();
    // What was said about presence meanwhile is caught up with; what was broadcast is not.
    assert_eq!(diff(&mut bob).await["joins"]["ann"]["metas"][0]["n"], 1);
    ann.send(broadcast(2)).await;
    assert_eq!(number(&mut bob).await, 2);
}

#[tokio::test]
async fn without_the_broker_the_node_that_reads_the_log_tells_its_own_and_afterwards_all_hear() {
    let mut nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    one.publish("public.notes", NOTES).await;
    let entries = json!([{"event": "*", "schema": "public", "table": "notes"}]);
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.subscribe("1", "realtime:r", entries.clone()).await;
    bob.subscribe("1", "realtime:r", entries).await;
    one.execute("insert into notes values (1)").await;
    assert_eq!(ann.record().await["id"], 1);
    assert_eq!(bob.record().await["id"], 1);

    nats.kill();
    for id in 2..=4 {
        one.execute(&format!("insert into notes values ({id})"))
            .await;
        assert_eq!(
            ann.record().await["id"],
            id,
            "the broker is not needed for it"
        );
    }

    nats.resume();
    // Whoever may have missed something is told so, and hears whatever comes then.
    let said = bob.next().await;
    assert_eq!(said[4]["message"], "Subscribed to PostgreSQL", "{said}");
    one.execute("insert into notes values (5)").await;
    assert_eq!(ann.record().await["id"], 5);
    assert_eq!(bob.record().await["id"], 5);
    ann.is_silent().await;
}
