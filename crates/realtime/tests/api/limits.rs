//! Limits and times (§2.3, §11, §14.4).

use std::{collections::HashSet, time::Duration};

use http::StatusCode;
use serde_json::json;

use crate::support::{Closed, PUBLISHABLE_KEY, Sql, TestRealtime, until};

fn reason(text: &str) -> serde_json::Value {
    json!({"status": "error", "response": {"reason": text}})
}

#[tokio::test]
async fn a_socket_counts_once_and_only_with_a_channel() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_concurrent_users", "1")]).await;
    let (mut one, mut other) = (realtime.socket().await, realtime.socket().await);
    one.join_ok("1", "realtime:a").await;
    one.join_ok("2", "realtime:b").await;

    let reply = other.join("1", "realtime:a", json!({})).await;
    let full = "ConnectionRateLimitReached: Too many connected users";
    assert_eq!(reply, reason(full));
    let rejected = realtime
        .rejection(&format!("apikey={PUBLISHABLE_KEY}&vsn=2.0.0"))
        .await;
    assert_eq!(rejected.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(
        rejected.body,
        json!({ "error": "Too many connected users" })
    );

    for (reference, topic) in [("1", "realtime:a"), ("2", "realtime:b")] {
        one.send(json!([reference, "9", topic, "phx_leave", {}]))
            .await;
        one.next().await;
        one.next().await;
    }
    other.join_ok("2", "realtime:a").await;
}

#[tokio::test]
async fn a_rejected_join_releases_its_socket_permit_even_with_queued_frames() {
    let realtime = TestRealtime::with(&[
        ("plinth.realtime.max_concurrent_users", "1"),
        ("plinth.realtime.channel_error_backoff", "10ms"),
    ])
    .await;
    let mut rejected = realtime.socket().await;
    let private = json!({"config": {"private": true}});
    rejected
        .send(json!(["1", "1", "realtime:a", "phx_join", private]))
        .await;
    rejected
        .send(json!(["1", "2", "realtime:a", "broadcast", {}]))
        .await;
    for _ in 0..2 {
        assert_eq!(rejected.next().await[4]["status"], "error");
    }

    let mut next = realtime.socket().await;

    next.join_ok("1", "realtime:a").await;
}

#[tokio::test]
async fn a_socket_has_so_many_channels() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_channels_per_client", "2")]).await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:a").await;
    socket.join_ok("2", "realtime:b").await;

    let reply = socket.join("3", "realtime:c", json!({})).await;

    assert_eq!(reply, reason("ChannelRateLimitReached: Too many channels"));
}

#[tokio::test]
async fn too_many_joins_end_the_socket() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_joins_per_second", "1")]).await;
    let mut socket = realtime.socket().await;
    // The average is that of a minute.
    for n in 1..=60 {
        socket.join_ok(&n.to_string(), "realtime:a").await;
        if n > 1 {
            assert_eq!(socket.next().await[3], "phx_close");
        }
    }

    let reply = socket.join("61", "realtime:b", json!({})).await;

    assert_eq!(
        reply,
        reason("ClientJoinRateLimitReached: Too many joins per second")
    );
    assert_eq!(socket.end().await, Closed(Some(1001)));
    let query = format!("apikey={PUBLISHABLE_KEY}&vsn=2.0.0");
    let rejected = realtime.rejection(&query).await;
    assert_eq!(rejected.status, StatusCode::TOO_MANY_REQUESTS);
    let too_many = "Too many joins per second";
    assert_eq!(rejected.body, json!({ "error": too_many }));
}

#[tokio::test]
async fn a_flood_of_joins_blocks_no_other_socket_and_each_gets_one_reply() {
    const JOINS: usize = 5_000;
    let realtime = TestRealtime::with(&[("plinth.realtime.max_channels_per_client", "20")]).await;
    realtime
        .execute("create policy everybody on realtime.messages using (true) with check (true)")
        .await;
    let (mut flood, mut other) = (realtime.socket().await, realtime.socket().await);
    // Each needs the database; the replies are not read meanwhile.
    for n in 0..JOINS {
        let topic = format!("realtime:{n}");
        let payload = json!({"config": {"private": true}});
        flood
            .send(json!([
                n.to_string(),
                n.to_string(),
                topic,
                "phx_join",
                payload
            ]))
            .await;
    }

    let begun = std::time::Instant::now();
    let private = json!({"config": {"private": true}});
    let reply = other.join("1", "realtime:other", private).await;
    assert_eq!(reply["status"], "ok", "{reply}");
    assert!(begun.elapsed() < Duration::from_secs(15));

    let mut answered = HashSet::new();
    let mut joined = 0;
    while answered.len() < JOINS {
        let frame = flood.next().await;
        assert_eq!(frame[3], "phx_reply", "{frame}");
        assert!(answered.insert(frame[1].clone()), "twice: {frame}");
        match frame[4]["status"].as_str() {
            Some("ok") => joined += 1,
            _ => assert_eq!(
                frame[4],
                reason("ChannelRateLimitReached: Too many channels")
            ),
        }
    }
    assert_eq!(joined, 20);
    flood.expect_nothing().await;
}

#[tokio::test]
async fn changes_beyond_the_limit_are_skipped_until_there_are_fewer() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_events_per_second", "1")]).await;
    let notes = "create table public.notes (id int primary key);
        grant select on public.notes to anon";
    realtime.publish("public.notes", notes).await;
    let mut socket = realtime.socket().await;
    let entries = json!([{"event": "*", "schema": "public", "table": "notes"}]);
    socket.subscribe("1", "realtime:r", entries).await;

    // The average is that of a minute.
    realtime
        .execute("insert into notes select generate_series(1, 60)")
        .await;
    for id in 1..=60 {
        assert_eq!(socket.record().await["id"], id);
    }
    realtime.execute("insert into notes values (61)").await;
    // Once its position is confirmed it was skipped, and is not delivered later.
    let written = realtime
        .count("select (pg_current_wal_lsn() - '0/0')::bigint")
        .await;
    let confirmed = "select (confirmed_flush_lsn - '0/0')::bigint from pg_replication_slots
        where database = current_database()";
    until(async || realtime.count(confirmed).await >= written).await;
    realtime.set(&[("plinth.realtime.max_events_per_second", "100")]);
    realtime.execute("insert into notes values (62)").await;
    assert_eq!(socket.record().await["id"], 62);
}

#[tokio::test]
async fn too_many_messages_close_the_channel_but_a_burst_passes() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_events_per_second", "1")]).await;
    let mut socket = realtime.socket().await;
    let config = json!({"config": {"broadcast": {"ack": true}}});
    assert_eq!(socket.join("1", "realtime:a", config).await["status"], "ok");
    for _ in 0..60 {
        socket
            .send(json!(["1", "2", "realtime:a", "broadcast", {}]))
            .await;
        assert_eq!(socket.next().await[4]["status"], "ok");
    }

    socket
        .send(json!(["1", "2", "realtime:a", "broadcast", {}]))
        .await;

    let frame = socket.next().await;
    assert_eq!(frame[4]["message"], "Too many messages per second");
    assert_eq!(socket.next().await[3], "phx_close");
}

#[tokio::test]
async fn a_payload_that_is_too_large_is_dropped() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_payload_size_in_kb", "1")]).await;
    let mut socket = realtime.socket().await;
    let config = json!({"config": {"broadcast": {"ack": true, "self": true}}});
    assert_eq!(socket.join("1", "realtime:a", config).await["status"], "ok");

    let payload = json!({"event": "e", "payload": "x".repeat(1600)});
    socket
        .send(json!(["1", "2", "realtime:a", "broadcast", payload]))
        .await;

    let response = json!({"status": "error", "response": {"error": "payload_size_exceeded"}});
    assert_eq!(socket.next().await[4], response);
    socket.expect_nothing().await;

    let payload = json!({"event": "track", "payload": {"x": "x".repeat(1600)}});
    socket
        .send(json!(["1", "3", "realtime:a", "presence", payload]))
        .await;
    assert_eq!(
        socket.next().await[4]["message"],
        "Track message size exceeded"
    );
    assert_eq!(socket.next().await[3], "phx_close");
}

#[tokio::test]
async fn presence_calls_of_a_channel_are_limited() {
    let settings = [
        ("plinth.realtime.client_presence_calls", "2"),
        ("plinth.realtime.client_presence_window", "1h"),
    ];
    let realtime = TestRealtime::with(&settings).await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:a").await;
    for _ in 0..2 {
        socket
            .send(json!(["1", "2", "realtime:a", "presence", {"event": "untrack"}]))
            .await;
        assert_eq!(socket.next().await[4]["status"], "ok");
    }

    socket
        .send(json!(["1", "2", "realtime:a", "presence", {"event": "untrack"}]))
        .await;

    assert_eq!(
        socket.next().await[4]["message"],
        "Client presence rate limit exceeded"
    );
}

#[tokio::test]
async fn too_many_presence_messages_close_the_channel() {
    let settings = [
        ("plinth.realtime.max_presence_events_per_second", "1"),
        ("plinth.realtime.client_presence_calls", "1000"),
    ];
    let realtime = TestRealtime::with(&settings).await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:a").await;
    let untrack = json!(["1", "2", "realtime:a", "presence", {"event": "untrack"}]);
    // The average is that of a minute.
    for _ in 0..60 {
        socket.send(untrack.clone()).await;
        assert_eq!(socket.next().await[4]["status"], "ok");
    }

    socket.send(untrack).await;

    let frame = socket.next().await;
    assert_eq!(frame[4]["message"], "Too many presence messages per second");
    assert_eq!(socket.next().await[3], "phx_close");
    let error = "code=\"PresenceRateLimitReached\"";
    assert_eq!(realtime.metric_with("realtime_channel_error", error), 1.0);
}

#[tokio::test]
async fn idle_sockets_and_those_without_a_channel_are_closed() {
    let silent = TestRealtime::with(&[("plinth.realtime.socket_idle", "200ms")]).await;
    let mut socket = silent.socket().await;
    socket.join_ok("1", "realtime:a").await;
    assert_eq!(socket.end().await, Closed(Some(1000)));

    let idle = TestRealtime::with(&[("plinth.realtime.no_channel_timeout", "200ms")]).await;
    let (mut without, mut with) = (idle.socket().await, idle.socket().await);
    with.join_ok("1", "realtime:a").await;
    assert_eq!(without.end().await, Closed(Some(1000)));
    with.expect_nothing().await;
}

#[tokio::test]
async fn a_client_that_does_not_keep_up_is_closed_and_others_go_on() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_queue_bytes", "64KiB")]).await;
    let (mut slow, mut quick) = (realtime.socket().await, realtime.socket().await);
    slow.join_ok("1", "realtime:a").await;
    quick.join_ok("1", "realtime:a").await;
    let mut speaker = realtime.socket().await;
    speaker.join_ok("1", "realtime:a").await;

    // More than all buffers of the system take.
    let payload = json!({"event": "e", "payload": "x".repeat(30_000)});
    for _ in 0..1_000 {
        speaker
            .send(json!(["1", "2", "realtime:a", "broadcast", payload]))
            .await;
        assert_eq!(quick.next().await[3], "broadcast");
    }

    assert!(matches!(slow.end().await, Closed(Some(1011) | None)));
    quick.expect_nothing().await;
}

#[tokio::test]
async fn large_messages_do_not_close_a_client_that_keeps_up() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_queue_bytes", "64KiB")]).await;
    let config = json!({"config": {"presence": {"enabled": true}}});
    let (mut shown, mut watching) = (realtime.socket().await, realtime.socket().await);
    for socket in [&mut shown, &mut watching] {
        let joined = socket.join("1", "realtime:a", config.clone()).await;
        assert_eq!(joined["status"], "ok");
        assert_eq!(socket.next().await[3], "presence_state");
    }

    // Each diff has the former payload as well.
    for letter in ["x", "y", "z"] {
        let payload = json!({"event": "track", "payload": {"at": letter.repeat(100_000)}});
        shown
            .send(json!(["1", "2", "realtime:a", "presence", payload]))
            .await;
        assert_eq!(watching.next().await[3], "presence_diff");
        assert_eq!(shown.next().await[4]["status"], "ok");
        assert_eq!(shown.next().await[3], "presence_diff");
    }

    watching.expect_nothing().await;
    let mut late = realtime.socket().await;
    assert_eq!(late.join("1", "realtime:a", config).await["status"], "ok");
    assert_eq!(late.next().await[3], "presence_state");
    late.expect_nothing().await;
}

#[tokio::test]
async fn rejections_are_delayed_and_the_socket_goes_on() {
    let realtime = TestRealtime::with(&[("plinth.realtime.channel_error_backoff", "1s")]).await;
    let mut socket = realtime.socket().await;
    let begun = std::time::Instant::now();

    socket
        .send(json!(["1", "1", "realtime:", "phx_join", {}]))
        .await;
    socket.join_ok("2", "realtime:a").await;
    assert!(
        begun.elapsed().as_millis() < 900,
        "no request waits for the error"
    );

    assert_eq!(socket.next().await[1], "1");
    assert!(begun.elapsed().as_millis() >= 1000);
}
