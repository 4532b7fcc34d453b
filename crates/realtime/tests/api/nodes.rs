//! Several nodes over a real broker (§14.5, §14.6).

use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::support::{NatsServer, NodeRuntime, SECRET_KEY, Socket, Sql, TestRealtime, until};

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
    let reply = socket.join("1", "realtime:r", config).await;
    assert_eq!(reply["status"], "ok", "{reply}");
    let state = socket.next().await;
    assert_eq!(state[3], "presence_state", "{state}");
    state[4].clone()
}

fn track(n: u64) -> Value {
    let payload = json!({"type": "presence", "event": "track", "payload": {"n": n}});
    json!(["1", "9", "realtime:r", "presence", payload])
}

/// The next presence diff, skipping replies.
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
    ann.join_ok("1", "realtime:r").await;
    bob.join_ok("1", "realtime:r").await;

    for n in 0..20 {
        ann.send(broadcast(n)).await;
    }
    for n in 0..20 {
        assert_eq!(number(&mut bob).await, n);
    }
    bob.send(broadcast(99)).await;
    assert_eq!(number(&mut ann).await, 99);
    ann.expect_nothing().await;
    bob.expect_nothing().await;
}

#[tokio::test]
async fn large_messages_travel_in_parts() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.join_ok("1", "realtime:r").await;
    bob.join_ok("1", "realtime:r").await;

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
async fn http_broadcasts_on_one_node_reach_topics_that_only_another_has() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let mut bob = other.socket().await;
    bob.join_ok("1", "realtime:r").await;

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
    bob.expect_nothing().await;
}

#[tokio::test]
async fn presence_is_the_same_on_all_nodes() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    assert_eq!(join_with_presence(&mut ann, "ann").await, json!({}));
    ann.send(track(1)).await;
    assert_eq!(diff(&mut ann).await["joins"]["ann"]["metas"][0]["n"], 1);

    // A later join receives all entries.
    let state = join_with_presence(&mut bob, "bob").await;
    assert_eq!(state["ann"]["metas"][0]["n"], 1, "{state}");
    bob.send(track(2)).await;
    for socket in [&mut ann, &mut bob] {
        assert_eq!(diff(socket).await["joins"]["bob"]["metas"][0]["n"], 2);
    }

    // An update has the entry that it replaces, there too.
    ann.send(track(3)).await;
    let updated = diff(&mut bob).await;
    assert_eq!(updated["joins"]["ann"]["metas"][0]["n"], 3);
    assert_eq!(updated["leaves"]["ann"]["metas"][0]["n"], 1);

    drop(ann);
    assert_eq!(diff(&mut bob).await["leaves"]["ann"]["metas"][0]["n"], 3);
}

#[tokio::test]
async fn presence_of_a_node_that_shuts_down_leaves_after_the_grace_period() {
    let nats = NatsServer::start();
    let (one, other) = two_nodes(&nats).await;
    let mut bob = other.socket().await;
    join_with_presence(&mut bob, "bob").await;
    let mut ann = one.socket().await;
    join_with_presence(&mut ann, "ann").await;
    ann.send(track(1)).await;
    assert_eq!(diff(&mut bob).await["joins"]["ann"]["metas"][0]["n"], 1);

    one.service.shut_down().await;

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
        socket.expect_nothing().await;
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
        let frame = socket.next().await;
        assert_eq!(
            frame[4]["message"], "Replication connection established",
            "{frame}"
        );
    }

    one.execute("select realtime.send('{\"n\": 1}', 'e', 'r', false)")
        .await;

    for socket in &mut sockets {
        let Message::Binary(frame) = socket.message().await else {
            panic!("a binary frame");
        };
        assert!(frame.windows(6).any(|part| part == b"\"n\": 1"));
        socket.expect_nothing().await;
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

    let (ending, writing) = (one.service.shut_down(), async {
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
    bob.expect_nothing().await;
}

#[tokio::test]
async fn without_the_broker_every_node_serves_its_own_and_afterwards_all_receive() {
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
    late.join_ok("1", "realtime:r").await;

    nats.resume();
    // Presence changes are caught up with; broadcasts are lost.
    assert_eq!(diff(&mut bob).await["joins"]["ann"]["metas"][0]["n"], 1);
    ann.send(broadcast(2)).await;
    assert_eq!(number(&mut bob).await, 2);
}

fn all_notes() -> Value {
    json!([{"event": "*", "schema": "public", "table": "notes"}])
}

/// Two nodes with a subscriber each; the first node has the slot.
async fn two_subscribed(nats: &NatsServer) -> (TestRealtime, TestRealtime, Socket, Socket) {
    let (one, other) = two_nodes(nats).await;
    let [ann, bob] = subscribe_on([&one, &other]).await;
    (one, other, ann, bob)
}

/// A subscriber on each node; the first node has the slot, and all have received the first note.
async fn subscribe_on<const N: usize>(nodes: [&TestRealtime; N]) -> [Socket; N] {
    nodes[0].publish("public.notes", NOTES).await;
    let mut sockets = Vec::new();
    for node in nodes {
        let mut socket = node.socket().await;
        socket.subscribe("1", "realtime:r", all_notes()).await;
        sockets.push(socket);
    }
    nodes[0].execute("insert into notes values (1)").await;
    for socket in &mut sockets {
        assert_eq!(socket.record().await["id"], 1);
    }
    let sockets = sockets.try_into();
    sockets.unwrap_or_else(|_| panic!("one for each node"))
}

async fn insert(node: &TestRealtime, ids: std::ops::RangeInclusive<i64>) {
    for id in ids {
        node.execute(&format!("insert into notes values ({id})"))
            .await;
    }
}

/// The next row changes are these, and nothing else comes between them.
async fn expect_ids(socket: &mut Socket, ids: std::ops::RangeInclusive<i64>) {
    for id in ids {
        assert_eq!(socket.record().await["id"], id);
    }
}

#[tokio::test]
async fn without_the_broker_row_changes_wait_and_arrive_in_order_and_once() {
    let mut nats = NatsServer::start();
    let (one, _other, mut ann, mut bob) = two_subscribed(&nats).await;

    nats.kill();
    insert(&one, 2..=4).await;
    // The broker is not needed for it.
    expect_ids(&mut ann, 2..=4).await;
    let large = "x".repeat(300_000);
    one.execute(&format!(
        "insert into notes select id, '{large}' from generate_series(5, 7) id"
    ))
    .await;
    expect_ids(&mut ann, 5..=7).await;

    nats.resume();
    expect_ids(&mut bob, 2..=7).await;
    insert(&one, 8..=9).await;
    for socket in [&mut ann, &mut bob] {
        expect_ids(socket, 8..=9).await;
        socket.expect_nothing().await;
    }
}

#[tokio::test]
async fn without_the_broker_another_node_takes_over_and_misses_nothing() {
    let mut nats = NatsServer::start();
    let (one, other, ann, mut bob) = two_subscribed(&nats).await;

    nats.kill();
    insert(&one, 2..=4).await;
    drop(ann);
    one.service.shut_down().await;

    // What the first node has read and could not send is read again.
    insert(&other, 5..=6).await;
    expect_ids(&mut bob, 2..=6).await;
    bob.expect_nothing().await;
}

/// A query: whether the slot is confirmed up to where the WAL ends now.
async fn is_confirmed_now(node: &TestRealtime) -> String {
    let row = node.query_one("select pg_current_wal_lsn()::text").await;
    let position: String = row.get(0);
    format!(
        "select count(*) from pg_replication_slots
        where database = current_database() and confirmed_flush_lsn >= '{position}'"
    )
}

#[tokio::test]
async fn beyond_the_limit_of_retained_wal_clients_of_other_nodes_must_reload() {
    let mut nats = NatsServer::start();
    nats.max_retained_wal = 1_000_000;
    let (one, _other, mut ann, mut bob) = two_subscribed(&nats).await;

    nats.kill();
    insert(&one, 2..=3).await;
    expect_ids(&mut ann, 2..=3).await;
    let is_confirmed = is_confirmed_now(&one).await;
    assert_eq!(
        one.count(&is_confirmed).await,
        0,
        "it waits for the other node"
    );
    // The WAL of other tables is retained as well.
    one.execute("create table filler as select md5(n::text) from generate_series(1, 40000) n")
        .await;
    until(async || one.count(&is_confirmed).await == 1).await;

    nats.resume();
    let frame = bob.next().await;
    assert_eq!(frame[4]["message"], "Subscribed to PostgreSQL", "{frame}");
    insert(&one, 4..=5).await;
    for socket in [&mut ann, &mut bob] {
        expect_ids(socket, 4..=5).await;
        socket.expect_nothing().await;
    }
}

/// As the node itself says.
async fn receives_changes(node: &TestRealtime) -> bool {
    let health = node.get("/api/tenants/anything/health").await.json();
    health["data"]["replication_connected"] == true
}

#[tokio::test]
async fn without_the_broker_nodes_say_so() {
    let mut nats = NatsServer::start();
    let (one, other, mut ann, _bob) = two_subscribed(&nats).await;
    let acks = json!({"config": {"broadcast": {"ack": true}}});
    let reply = ann.join("2", "realtime:s", acks).await;
    assert_eq!(reply["status"], "ok", "{reply}");
    let send = |reference: &str| {
        let payload = json!({"type": "broadcast", "event": "e", "payload": {}});
        json!(["2", reference, "realtime:s", "broadcast", payload])
    };
    ann.send(send("7")).await;
    assert_eq!(ann.next().await[4]["status"], "ok");
    assert!(one.service.reaches_all_nodes());

    nats.kill();
    until(async || !one.service.reaches_all_nodes()).await;
    ann.send(send("8")).await;
    let expected = json!({
        "status": "error",
        "response": {"reason": "Realtime was unable to reach its other nodes"},
    });
    assert_eq!(ann.next().await[4], expected);
    // The node without the slot receives no row changes.
    until(async || !receives_changes(&other).await).await;

    nats.resume();
    until(async || one.service.reaches_all_nodes()).await;
    until(async || receives_changes(&other).await).await;
}

/// Shorter than usual, and longer than a slow machine takes between two signs of life.
const FOLLOWER_TIMEOUT: Duration = Duration::from_secs(16);

/// Until a node without the broker has notified the others through the database that it lives, some
/// time after `since`.
async fn until_recorded(node: &TestRealtime, since: Instant, time: Duration) {
    let records = format!(
        "select count(*) from realtime.followers
        where seen_at > clock_timestamp() - interval '{} seconds'",
        FOLLOWER_TIMEOUT.as_secs()
    );
    until(async || since.elapsed() > time && node.count(&records).await == 1).await;
}

#[tokio::test]
async fn a_node_that_alone_is_without_the_broker_receives_all_row_changes_afterwards() {
    let mut nats = NatsServer::start();
    nats.follower_timeout = FOLLOWER_TIMEOUT;
    let forwarder = nats.forwarder().await;
    let one = TestRealtime::node(&nats).await;
    let other = one.another_through(&nats, &forwarder).await;
    let [mut ann, mut bob] = subscribe_on([&one, &other]).await;

    forwarder.close();
    let closed_at = Instant::now();
    until(async || !other.service.reaches_all_nodes()).await;
    insert(&one, 2..=4).await;
    expect_ids(&mut ann, 2..=4).await;
    let is_confirmed = is_confirmed_now(&one).await;
    until_recorded(&one, closed_at, 2 * FOLLOWER_TIMEOUT).await;
    assert_eq!(
        one.count(&is_confirmed).await,
        0,
        "it waits for the other node"
    );
    insert(&one, 5..=6).await;

    forwarder.open();
    expect_ids(&mut bob, 2..=6).await;
    expect_ids(&mut ann, 5..=6).await;
    insert(&one, 7..=8).await;
    for socket in [&mut ann, &mut bob] {
        expect_ids(socket, 7..=8).await;
        socket.expect_nothing().await;
    }
}

#[tokio::test]
async fn a_node_that_takes_over_waits_for_one_without_the_broker() {
    let mut nats = NatsServer::start();
    nats.follower_timeout = FOLLOWER_TIMEOUT;
    let forwarder = nats.forwarder().await;
    let one = TestRealtime::node(&nats).await;
    let two = one.another(&nats).await;
    let three = one.another_through(&nats, &forwarder).await;
    let [ann, mut bob, mut carl] = subscribe_on([&one, &two, &three]).await;

    forwarder.close();
    let closed_at = Instant::now();
    until_recorded(&one, closed_at, Duration::ZERO).await;
    insert(&one, 2..=4).await;
    drop(ann);
    one.service.shut_down().await;
    insert(&two, 5..=6).await;
    until_recorded(&two, closed_at, 2 * FOLLOWER_TIMEOUT).await;

    forwarder.open();
    for socket in [&mut bob, &mut carl] {
        expect_ids(socket, 2..=6).await;
    }
    insert(&two, 7..=8).await;
    for socket in [&mut bob, &mut carl] {
        expect_ids(socket, 7..=8).await;
        socket.expect_nothing().await;
    }
}

/// Longer than nodes that say nothing count as peers.
const PEERS_FORGOTTEN: Duration = Duration::from_secs(32);

#[tokio::test]
async fn a_node_that_stops_after_taking_over_leaves_the_slot_to_one_without_the_broker() {
    let mut nats = NatsServer::start();
    nats.follower_timeout = FOLLOWER_TIMEOUT;
    let forwarder = nats.forwarder().await;
    let one = TestRealtime::node(&nats).await;
    let two = one.another(&nats).await;
    let three = one.another_through(&nats, &forwarder).await;
    let [ann, mut bob, mut carl] = subscribe_on([&one, &two, &three]).await;

    forwarder.close();
    until_recorded(&one, Instant::now(), PEERS_FORGOTTEN).await;
    drop(ann);
    one.service.shut_down().await;
    insert(&two, 2..=3).await;
    expect_ids(&mut bob, 2..=3).await;
    drop(bob);
    two.service.shut_down().await;

    assert_eq!(three.count(SLOTS).await, 1);
    forwarder.open();
    expect_ids(&mut carl, 2..=3).await;
}

#[tokio::test]
async fn no_wal_is_retained_for_a_node_that_has_died() {
    let mut nats = NatsServer::start();
    nats.follower_timeout = FOLLOWER_TIMEOUT;
    let forwarder = nats.forwarder().await;
    let one = TestRealtime::node(&nats).await;
    let runtime = NodeRuntime::start();
    let other = one
        .another_on(&runtime, nats.config_through(&forwarder))
        .await;
    let [mut ann, _bob] = subscribe_on([&one, &other]).await;

    forwarder.close();
    until_recorded(&one, Instant::now(), Duration::ZERO).await;
    drop(runtime);
    insert(&one, 2..=3).await;
    expect_ids(&mut ann, 2..=3).await;
    let is_confirmed = is_confirmed_now(&one).await;

    until(async || one.count(&is_confirmed).await == 1).await;
}

const SLOTS: &str = "select count(*) from pg_replication_slots where database = current_database()";

#[tokio::test]
async fn no_slot_stays_when_followers_stop_before_the_node_that_reads_it() {
    let mut nats = NatsServer::start();
    // Nodes that say nothing are waited for.
    nats.follower_timeout = Duration::from_secs(3600);
    let (one, other, mut ann, bob) = two_subscribed(&nats).await;

    drop(bob);
    other.service.shut_down().await;
    insert(&one, 2..=3).await;
    expect_ids(&mut ann, 2..=3).await;
    let is_confirmed = is_confirmed_now(&one).await;
    until(async || one.count(&is_confirmed).await == 1).await;
    drop(ann);
    one.service.shut_down().await;

    assert_eq!(one.count(SLOTS).await, 0);
}

#[tokio::test]
async fn no_slot_stays_when_the_node_that_reads_it_stops_first() {
    let nats = NatsServer::start();
    let (one, other, ann, mut bob) = two_subscribed(&nats).await;

    drop(ann);
    one.service.shut_down().await;
    insert(&other, 2..=2).await;
    expect_ids(&mut bob, 2..=2).await;
    drop(bob);
    other.service.shut_down().await;

    assert_eq!(other.count(SLOTS).await, 0);
}

#[tokio::test]
async fn a_node_that_stops_without_the_broker_leaves_no_record() {
    let mut nats = NatsServer::start();
    nats.follower_timeout = FOLLOWER_TIMEOUT;
    let forwarder = nats.forwarder().await;
    let one = TestRealtime::node(&nats).await;
    let other = one.another_through(&nats, &forwarder).await;
    let [_ann, bob] = subscribe_on([&one, &other]).await;
    forwarder.close();
    until_recorded(&one, Instant::now(), Duration::ZERO).await;

    drop(bob);
    other.service.shut_down().await;

    let records = "select count(*) from realtime.followers";
    assert_eq!(one.count(records).await, 0);
}
