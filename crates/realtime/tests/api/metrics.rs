//! Metrics of a project (§12).

use serde_json::{Value, json};

use crate::support::{ANN, NatsServer, Socket, Sql, TestRealtime, until, user_token};

const NOTES: &str = "create table public.notes (id int primary key, owner text);
    alter table public.notes enable row level security;
    create policy own on public.notes for select
        using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
    grant select on public.notes to authenticated";

fn notes() -> Value {
    json!([{"event": "*", "schema": "public", "table": "notes"}])
}

fn track(reference: &str, n: u64) -> Value {
    let payload = json!({"type": "presence", "event": "track", "payload": {"n": n}});
    json!(["1", reference, "realtime:r", "presence", payload])
}

#[tokio::test]
async fn sockets_count_while_they_have_a_channel() {
    let realtime = TestRealtime::start().await;
    let (mut one, _without) = (realtime.socket().await, realtime.socket().await);
    one.join_ok("1", "realtime:a").await;
    one.join_ok("2", "realtime:b").await;
    assert_eq!(realtime.metric("realtime_connections_connected"), 1.0);
    assert_eq!(
        realtime.metric("realtime_connections_connected_cluster"),
        1.0
    );

    drop(one);

    realtime
        .wait_for_metric("realtime_connections_connected", |value| value == 0.0)
        .await;
    realtime
        .wait_for_metric("realtime_connections_connected_cluster", |number| {
            number == 0.0
        })
        .await;
}

#[tokio::test]
async fn a_frame_for_many_is_made_once() {
    let realtime = TestRealtime::start().await;
    let mut sockets = Vec::new();
    for _ in 0..5 {
        let mut socket = realtime.socket().await;
        socket.join_ok("1", "realtime:r").await;
        sockets.push(socket);
    }

    sockets[0]
        .send(json!(["1", "2", "realtime:r", "broadcast", {}]))
        .await;

    for socket in &mut sockets[1..] {
        assert_eq!(socket.next().await[3], "broadcast");
    }
    assert_eq!(realtime.metric("realtime_frames_encoded"), 1.0);
    assert_eq!(realtime.metric("realtime_frames_shared"), 3.0);
    assert_eq!(realtime.metric("realtime_channel_events"), 5.0);
}

#[tokio::test]
async fn presence_entries_are_counted_until_they_are_removed() {
    let realtime = TestRealtime::start().await;
    let (mut one, mut other) = (realtime.socket().await, realtime.socket().await);
    one.join_ok("1", "realtime:r").await;
    other.join_ok("1", "realtime:r").await;
    for (socket, n) in [(&mut one, 1), (&mut other, 2)] {
        socket.send(track("2", n)).await;
    }
    // An update is no new entry.
    one.send(track("3", 3)).await;
    while one.next().await[1] != "3" {}
    realtime
        .wait_for_metric("realtime_presence_entries", |value| value == 2.0)
        .await;

    one.send(json!(["1", "4", "realtime:r", "presence", {"event": "untrack"}]))
        .await;
    realtime
        .wait_for_metric("realtime_presence_entries", |value| value == 1.0)
        .await;
    drop(other);
    realtime
        .wait_for_metric("realtime_presence_entries", |value| value == 0.0)
        .await;
}

#[tokio::test]
async fn queued_and_dropped_messages_of_a_slow_client_are_counted() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_queue_bytes", "8MiB")]).await;
    let (mut slow, mut speaker) = (realtime.socket().await, realtime.socket().await);
    slow.join_ok("1", "realtime:r").await;
    speaker.join_ok("1", "realtime:r").await;
    let payload = json!({"event": "e", "payload": "x".repeat(100_000)});

    // More than all buffers of the system take, and less than the queue does.
    let name = "realtime_outbound_queue_bytes";
    while realtime.metric(name) < 100_000.0 {
        speaker
            .send(json!(["1", "2", "realtime:r", "broadcast", payload]))
            .await;
        speaker.expect_nothing().await;
    }
    assert_eq!(realtime.metric("realtime_sockets_closed"), 0.0);
    for _ in 0..100 {
        speaker
            .send(json!(["1", "2", "realtime:r", "broadcast", payload]))
            .await;
    }

    let dropped = || realtime.metric_with("realtime_outbound_dropped", "reason=\"queue_bytes\"");
    until(async || dropped() >= 50.0).await;
    realtime.wait_for_metric(name, |value| value == 0.0).await;
}

#[tokio::test]
async fn groups_are_counted_per_change_and_so_is_the_time_of_a_batch() {
    let realtime = TestRealtime::start().await;
    realtime.publish("public.notes", NOTES).await;
    let mut sockets = Vec::new();
    // Three sockets with the tokens of two users, which the policy distinguishes.
    let (ann, bob) = (
        user_token(ANN),
        user_token("00000000-0000-0000-0000-00000000000b"),
    );
    for token in [&ann, &ann, &bob] {
        let mut socket = realtime.socket().await;
        socket
            .subscribe_as("1", "realtime:r", notes(), Some(token))
            .await;
        sockets.push(socket);
    }

    realtime
        .execute(&format!(
            "insert into notes values (1, '{ANN}'), (2, '{ANN}')"
        ))
        .await;

    for id in [1, 2] {
        assert_eq!(sockets[0].record().await["id"], id);
        assert_eq!(sockets[1].record().await["id"], id);
    }
    sockets[2].expect_nothing().await;
    assert_eq!(realtime.metric("realtime_changes_groups_count"), 2.0);
    assert_eq!(realtime.metric("realtime_changes_groups_sum"), 4.0);
    assert!(realtime.metric("realtime_replication_poller_query_duration_count") >= 1.0);
    assert!(realtime.metric("realtime_replication_poller_query_duration_sum") > 0.0);
    assert_eq!(
        realtime.metric("realtime_replication_poller_changes_dispatch"),
        2.0
    );
    // The sockets of one user share frames.
    assert_eq!(realtime.metric("realtime_frames_encoded"), 2.0);
    assert_eq!(realtime.metric("realtime_frames_shared"), 2.0);
}

#[tokio::test]
async fn replication_lag_is_measured_in_bytes_and_seconds() {
    let realtime = TestRealtime::start().await;
    let gated = "create table public.notes (id int primary key);
        grant select on public.notes to authenticated;
        create function public.gate() returns bool language plpgsql as
            'begin perform pg_advisory_xact_lock_shared(7); return true; end';
        alter table public.notes enable row level security;
        create policy gated on public.notes for select using (public.gate())";
    realtime.publish("public.notes", gated).await;
    let mut socket = realtime.socket().await;
    let token = user_token(ANN);
    socket
        .subscribe_as("1", "realtime:r", notes(), Some(&token))
        .await;

    let keeper = realtime.admin().await;
    keeper
        .batch_execute("select pg_advisory_lock(7)")
        .await
        .expect("shut");
    realtime.execute("insert into notes values (1)").await;
    realtime
        .wait_for_metric("realtime_replication_lag_seconds", |value| value > 1.0)
        .await;
    realtime
        .wait_for_metric("realtime_replication_lag_bytes", |value| value > 0.0)
        .await;
    drop(keeper);

    assert_eq!(socket.record().await["id"], 1);
    realtime
        .wait_for_metric("realtime_replication_lag_seconds", |value| value == 0.0)
        .await;
}

#[tokio::test]
async fn database_messages_and_their_replay_are_timed() {
    let realtime = TestRealtime::start().await;
    realtime
        .execute("create policy hear on realtime.messages for select to authenticated using (true)")
        .await;
    let mut socket = realtime.socket().await;
    let join = async |socket: &mut Socket, reference: &str, broadcast: Value| {
        let config = json!({"private": true, "broadcast": broadcast});
        let payload = json!({"config": config, "access_token": user_token(ANN)});
        let reply = socket.join(reference, "realtime:r", payload).await;
        assert_eq!(reply["status"], "ok", "{reply}");
    };
    join(&mut socket, "1", json!({"replication_ready": true})).await;
    assert_eq!(socket.next().await[4]["status"], "ok");

    // Inserted half a second before it is committed.
    realtime
        .execute("begin; select realtime.send('{}', 'e', 'r'); select pg_sleep(0.5); commit")
        .await;

    socket.message().await;
    let latency = |since: &str| {
        let name = format!("realtime_tenants_broadcast_from_database_latency_{since}");
        (
            realtime.metric(&format!("{name}_count")),
            realtime.metric(&format!("{name}_sum")),
        )
    };
    let ((commits, since_commit), (inserts, since_insert)) =
        (latency("committed_at"), latency("inserted_at"));
    assert_eq!((commits, inserts), (1.0, 1.0));
    assert!(
        since_insert >= since_commit + 400.0,
        "{since_insert} and {since_commit}"
    );

    assert_eq!(realtime.metric("realtime_tenants_replay_count"), 0.0);
    join(&mut socket, "2", json!({"replay": {"since": 0}})).await;
    assert_eq!(realtime.metric("realtime_tenants_replay_count"), 1.0);
    assert!(realtime.metric("realtime_tenants_replay_sum") > 0.0);
}

#[tokio::test]
async fn messages_between_nodes_are_counted_by_project() {
    let nats = NatsServer::start();
    let one = TestRealtime::node(&nats).await;
    let other = one.another(&nats).await;
    let (mut ann, mut bob) = (one.socket().await, other.socket().await);
    ann.join_ok("1", "realtime:r").await;
    bob.join_ok("1", "realtime:r").await;
    let (published, received) = ("realtime_cluster_published", "realtime_cluster_received");
    let before = (one.metric(published), one.metric(received));

    for _ in 0..20 {
        ann.send(json!(["1", "2", "realtime:r", "broadcast", {}]))
            .await;
    }
    for _ in 0..20 {
        assert_eq!(bob.next().await[3], "broadcast");
    }

    assert!(one.metric(published) >= before.0 + 20.0);
    assert!(one.metric(received) >= before.1 + 20.0);
    // Each was accepted once and delivered once.
    one.wait_for_metric("realtime_channel_events", |value| value == 40.0)
        .await;
    // Another project sent nothing.
    let stranger = TestRealtime::start().await;
    assert_eq!(stranger.metric(published), 0.0);
}
