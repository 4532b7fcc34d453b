//! Frames, and events of the socket itself (§3, §4).

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Closed, PUBLISHABLE_KEY, TestRealtime};

#[tokio::test]
async fn the_reply_to_a_heartbeat_has_its_ref() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;

    socket
        .send(json!([null, "26", "phoenix", "heartbeat", {}]))
        .await;

    let expected = json!([null, "26", "phoenix", "phx_reply", {"status": "ok", "response": {}}]);
    assert_eq!(socket.next().await, expected);
}

#[tokio::test]
async fn version_1_uses_objects() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime
        .open(&format!("apikey={PUBLISHABLE_KEY}&vsn=1.0.0"))
        .await;

    let join = json!({"topic": "realtime:a", "event": "phx_join", "payload": {}, "ref": "1"});
    socket.send(join).await;
    assert_eq!(
        socket.next().await,
        json!({
            "topic": "realtime:a",
            "event": "phx_reply",
            "payload": {"status": "ok", "response": {"postgres_changes": []}},
            "ref": "1",
        })
    );

    let leave = json!({"topic": "realtime:a", "event": "phx_leave", "payload": {}, "ref": "2"});
    socket.send(leave).await;
    assert_eq!(socket.next().await["ref"], "2");
    let close = json!({"topic": "realtime:a", "event": "phx_close", "payload": {}, "ref": "1"});
    assert_eq!(socket.next().await, close);
}

#[tokio::test]
async fn a_second_join_without_join_refs_ends_the_first_by_its_ref() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime
        .open(&format!("apikey={PUBLISHABLE_KEY}&vsn=1.0.0"))
        .await;
    let join = |reference: &str| json!({"topic": "realtime:a", "event": "phx_join", "payload": {}, "ref": reference});
    socket.send(join("1")).await;
    assert_eq!(socket.next().await["ref"], "1");

    socket.send(join("2")).await;

    assert_eq!(socket.next().await["ref"], "2");
    let close = json!({"topic": "realtime:a", "event": "phx_close", "payload": {}, "ref": "1"});
    assert_eq!(socket.next().await, close);
}

#[tokio::test]
async fn malformed_frames_are_dropped_and_the_socket_stays() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;

    for text in [
        "",
        "nonsense",
        "{}",
        "[1,2]",
        r#"["1","2",3,"e",{}]"#,
        "null",
    ] {
        socket.send_text(text).await;
    }
    for bytes in [
        vec![],
        vec![9, 9],
        vec![3, 255],
        vec![3, 0, 0, 1, 1, 0, 1, b't', b'e', b'{'],
    ] {
        socket.send_bytes(bytes).await;
    }

    socket.expect_nothing().await;
}

#[tokio::test]
async fn a_frame_that_is_too_big_ends_the_socket() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;

    socket.send_bytes(vec![0; 5_000_001]).await;

    assert_eq!(socket.end().await, Closed(Some(1009)));
}

#[tokio::test]
async fn topics_that_are_not_joined_are_unmatched() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    let unmatched = |reference: &str, topic: &str| {
        let response = json!({"status": "error", "response": {"reason": "unmatched topic"}});
        json!([null, reference, topic, "phx_reply", response])
    };

    socket
        .send(json!(["1", "1", "other:a", "phx_join", {}]))
        .await;
    assert_eq!(socket.next().await, unmatched("1", "other:a"));
    socket
        .send(json!(["1", "2", "realtime:a", "broadcast", {}]))
        .await;
    assert_eq!(socket.next().await, unmatched("2", "realtime:a"));
    socket
        .send(json!([null, "3", "realtime:a", "phx_leave", {}]))
        .await;
    let left = json!({"status": "ok", "response": {}});
    assert_eq!(
        socket.next().await,
        json!([null, "3", "realtime:a", "phx_reply", left])
    );
}

#[tokio::test]
async fn a_broadcast_in_every_form() {
    let realtime = TestRealtime::start().await;
    let (mut new, mut old) = (
        realtime.socket().await,
        realtime
            .open(&format!("apikey={PUBLISHABLE_KEY}&vsn=1.0.0"))
            .await,
    );
    let mut speaker = realtime.socket().await;
    new.join_ok("1", "realtime:r").await;
    speaker.join_ok("6", "realtime:r").await;
    old.send(json!({"topic": "realtime:r", "event": "phx_join", "payload": {}, "ref": "1"}))
        .await;
    old.next().await;

    // A text payload is forwarded verbatim.
    speaker
        .send_text(r#"["6","7","realtime:r","broadcast",{"type":"broadcast","event":"e","n":1.0}]"#)
        .await;
    let text = match new.message().await {
        Message::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    };
    let expected =
        r#"[null,null,"realtime:r","broadcast",{"type":"broadcast","event":"e","n":1.0}]"#;
    assert_eq!(text, expected);
    assert_eq!(old.next().await["payload"]["event"], "e");

    // JSON in a binary frame is binary for version 2 and an object for version 1.
    let mut frame = vec![3, 1, 1, 10, 1, 0, 1];
    frame.extend(b"68realtime:rc{\"x\":1}");
    speaker.send_bytes(frame).await;
    let Message::Binary(bytes) = new.message().await else {
        panic!("a binary frame");
    };
    assert_eq!(&bytes[..], b"\x04\x0a\x01\x00\x01realtime:rc{\"x\":1}");
    let payload = json!({"type": "broadcast", "event": "c", "payload": {"x": 1}});
    assert_eq!(old.next().await["payload"], payload);

    // Bytes are for version 2 alone.
    let mut frame = vec![3, 1, 1, 10, 1, 0, 0];
    frame.extend(b"69realtime:rb\x00\xff");
    speaker.send_bytes(frame).await;
    let Message::Binary(bytes) = new.message().await else {
        panic!("a binary frame");
    };
    assert_eq!(&bytes[..], b"\x04\x0a\x01\x00\x00realtime:rb\x00\xff");
    speaker
        .send(json!(["6", "10", "realtime:r", "broadcast", {}]))
        .await;
    assert_eq!(old.next().await["payload"], json!({}));
    assert_eq!(new.next().await[4], json!({}));
    // There is no reply, and the sender does not receive its own.
    speaker.expect_nothing().await;
}

#[tokio::test]
async fn unknown_events_get_no_reply() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:r").await;

    socket
        .send(json!(["1", "2", "realtime:r", "nonsense", {}]))
        .await;

    socket.expect_nothing().await;
}

#[tokio::test]
async fn entries_of_row_changes_come_back_as_they_were_sent() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    let entries = json!([{"event": "*", "schema": "public", "table": "t"}]);
    let config = json!({"config": {"postgres_changes": entries}});

    let reply = socket.join("1", "realtime:r", config).await;

    let mut entry = reply["response"]["postgres_changes"][0].clone();
    let id = entry.as_object_mut().and_then(|entry| entry.remove("id"));
    assert!(id.is_some_and(|id| id.is_u64()));
    assert_eq!(entry, entries[0]);
    assert_eq!(socket.next().await[3], "system");
    let none = socket.join(
        "2",
        "realtime:s",
        json!({"config": {"postgres_changes": [Value::Null]}}),
    );
    assert_eq!(none.await["response"]["postgres_changes"], json!([]));
}
