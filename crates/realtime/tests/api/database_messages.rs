//! Database messages: rows of `realtime.messages` (§6.6).

use std::time::Duration;

use axum::body::Bytes;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::support::{ANN, PUBLISHABLE_KEY, Socket, Sql, TestRealtime, user_token};

/// All signed-in users may read all topics.
const POLICY: &str =
    "create policy hear on realtime.messages for select to authenticated using (true)";

async fn ready(socket: &mut Socket, topic: &str, config: Value) {
    let mut config = config;
    config["broadcast"]["replication_ready"] = true.into();
    let payload = json!({"config": config, "access_token": user_token(ANN)});
    let reply = socket.join("1", topic, payload).await;
    assert_eq!(reply["status"], "ok", "{reply}");
}

async fn is_ready(socket: &mut Socket) {
    let frame = socket.next().await;
    assert_eq!(
        frame[4]["message"], "Replication connection established",
        "{frame}"
    );
    assert_eq!(frame[4]["status"], "ok");
    assert_eq!(frame[4]["extension"], "system");
}

/// Topic, event, meta and payload of a binary broadcast.
fn read(message: Message) -> (String, String, Value, Bytes) {
    let Message::Binary(frame) = message else {
        panic!("{message:?}");
    };
    assert_eq!(frame[0], 4);
    let [topic, event, meta] = [1, 2, 3].map(|place| usize::from(frame[place]));
    let text = |from: usize, length: usize| {
        String::from_utf8(frame[from..from + length].to_vec()).expect("text")
    };
    let meta_text = text(5 + topic + event, meta);
    (
        text(5, topic),
        text(5 + topic, event),
        serde_json::from_str(&meta_text).expect("JSON"),
        frame.slice(5 + topic + event + meta..),
    )
}

#[tokio::test]
async fn database_messages_reach_public_and_private_topics_separately() {
    let realtime = TestRealtime::start().await;
    realtime.execute(POLICY).await;
    let (mut public, mut private) = (realtime.socket().await, realtime.socket().await);
    ready(&mut public, "realtime:room", json!({})).await;
    is_ready(&mut public).await;
    ready(&mut private, "realtime:room", json!({"private": true})).await;
    is_ready(&mut private).await;

    realtime
        .execute(
            "select realtime.send('{\"n\": 1}', 'greet', 'room', false);
                  select realtime.send('{\"n\": 2, \"id\": \"7\"}', 'greet', 'room')",
        )
        .await;

    let (topic, event, meta, payload) = read(public.message().await);
    assert_eq!((&*topic, &*event), ("realtime:room", "greet"));
    let payload: Value = serde_json::from_slice(&payload).expect("JSON");
    assert_eq!(payload["n"], 1);
    assert_eq!(payload["id"], meta["id"]);
    let (_, _, _, payload) = read(private.message().await);
    let payload: Value = serde_json::from_slice(&payload).expect("JSON");
    assert_eq!(payload, json!({"n": 2, "id": "7"}));
    public.expect_nothing().await;
    private.expect_nothing().await;
}

#[tokio::test]
async fn sockets_of_version_1_receive_an_object_and_no_bytes() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.open(&format!("apikey={PUBLISHABLE_KEY}")).await;
    socket
        .send(
            json!({"topic": "realtime:r", "event": "phx_join", "ref": "1",
            "payload": {"config": {"broadcast": {"replication_ready": true}}}}),
        )
        .await;
    assert_eq!(socket.next().await["event"], "phx_reply");
    assert_eq!(socket.next().await["event"], "system");

    realtime
        .execute(
            "select realtime.send_binary('\\x0001', 'b', 'r', false);
                  select realtime.send('{\"n\": 1}', 'greet', 'r', false)",
        )
        .await;

    let frame = socket.next().await;
    assert_eq!(frame["event"], "broadcast");
    assert_eq!(frame["payload"]["event"], "greet");
    assert_eq!(frame["payload"]["payload"]["n"], 1);
    assert!(frame["payload"]["meta"]["id"].is_string());
}

#[tokio::test]
async fn bytes_arrive_as_bytes() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    ready(&mut socket, "realtime:r", json!({})).await;
    is_ready(&mut socket).await;

    realtime
        .execute("select realtime.send_binary('\\x0001ff', 'b', 'r', false)")
        .await;

    let (_, event, _, payload) = read(socket.message().await);
    assert_eq!((&*event, &payload[..]), ("b", &[0, 1, 255][..]));
}

#[tokio::test]
async fn broadcast_changes_sends_the_rows_of_a_trigger() {
    let realtime = TestRealtime::start().await;
    realtime.execute(POLICY).await;
    realtime
        .execute(
            "create table notes (id int primary key, body text);
            create function tell() returns trigger language plpgsql as $$ begin
                perform realtime.broadcast_changes('notes', tg_op, tg_op, tg_table_name,
                    tg_table_schema, new, old);
                return null;
            end $$;
            create trigger tell after insert or update or delete on notes
                for each row execute function tell()",
        )
        .await;
    let mut socket = realtime.socket().await;
    ready(&mut socket, "realtime:notes", json!({"private": true})).await;
    is_ready(&mut socket).await;

    realtime
        .execute(
            "insert into notes values (1, 'a'); update notes set body = 'b'; delete from notes",
        )
        .await;

    let rows = [
        ("INSERT", Value::Null, json!({"id": 1, "body": "a"})),
        (
            "UPDATE",
            json!({"id": 1, "body": "a"}),
            json!({"id": 1, "body": "b"}),
        ),
        ("DELETE", json!({"id": 1, "body": "b"}), Value::Null),
    ];
    for (operation, old, new) in rows {
        let (_, event, _, payload) = read(socket.message().await);
        let payload: Value = serde_json::from_slice(&payload).expect("JSON");
        assert_eq!(
            (&*event, &payload["operation"]),
            (operation, &json!(operation))
        );
        assert_eq!((&payload["old_record"], &payload["record"]), (&old, &new));
        assert_eq!(
            (&payload["table"], &payload["schema"]),
            (&json!("notes"), &json!("public"))
        );
    }
}

#[tokio::test]
async fn replayed_messages_are_not_sent_again() {
    let realtime = TestRealtime::start().await;
    realtime.execute(POLICY).await;
    let mut first = realtime.socket().await;
    ready(&mut first, "realtime:r", json!({"private": true})).await;
    is_ready(&mut first).await;
    // The stream may deliver the message before, during or after the replay query.
    realtime
        .execute("select realtime.send('{\"n\": 1}', 'greet', 'r')")
        .await;
    let mut second = realtime.socket().await;
    let replay = json!({"private": true, "broadcast": {"replay": {"since": 0}}});
    ready(&mut second, "realtime:r", replay).await;

    let replayed = second.next().await;
    assert_eq!(replayed[4]["meta"]["replayed"], true, "{replayed}");
    is_ready(&mut second).await;
    realtime
        .execute("select realtime.send('{\"n\": 2}', 'greet', 'r')")
        .await;
    let (_, _, _, payload) = read(second.message().await);
    let payload: Value = serde_json::from_slice(&payload).expect("JSON");
    assert_eq!(payload["n"], 2);
    for expected in [1, 2] {
        let (_, _, _, payload) = read(first.message().await);
        let payload: Value = serde_json::from_slice(&payload).expect("JSON");
        assert_eq!(payload["n"], expected);
    }
}

/// The number in the payload of a broadcast of either kind.
fn number(message: Message) -> Option<i64> {
    match message {
        Message::Text(text) => {
            let frame: Value = serde_json::from_str(&text).expect("JSON");
            frame[4]["payload"]["n"].as_i64()
        }
        message => {
            let (_, _, _, payload) = read(message);
            let payload: Value = serde_json::from_slice(&payload).expect("JSON");
            payload["n"].as_i64()
        }
    }
}

#[tokio::test]
async fn no_message_is_missing_between_replay_and_live() {
    let realtime = TestRealtime::start().await;
    realtime.execute(POLICY).await;
    let sending = async {
        for n in 0.. {
            let sql = format!("select realtime.send('{{\"n\": {n}}}', 'greet', 'r')");
            realtime.execute(&sql).await;
        }
    };
    let joining = async {
        // The stream starts with the first of them.
        for _ in 0..40 {
            let mut socket = realtime.socket().await;
            let config = json!({"private": true, "broadcast": {"replay": {"since": 0}}});
            let payload = json!({"config": config, "access_token": user_token(ANN)});
            let reply = socket.join("1", "realtime:r", payload).await;
            assert_eq!(reply["status"], "ok", "{reply}");
            let mut numbers = Vec::new();
            while numbers.len() < 32 {
                numbers.extend(number(socket.message().await));
            }
            let one_by_one = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
            assert!(one_by_one, "{numbers:?}");
        }
    };
    tokio::select! {
        () = sending => {}
        () = joining => {}
    }
}

#[tokio::test]
async fn messages_that_are_too_large_are_dropped() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_payload_size_in_kb", "1")]).await;
    let mut socket = realtime.socket().await;
    ready(&mut socket, "realtime:r", json!({})).await;
    is_ready(&mut socket).await;

    realtime
        .execute(
            "select realtime.send(jsonb_build_object('x', repeat('x', 2000)), 'big', 'r', false);
                  select realtime.send('{}', 'small', 'r', false)",
        )
        .await;

    assert_eq!(read(socket.message().await).1, "small");
}

#[tokio::test]
async fn a_channel_that_waits_for_replication_is_closed_after_the_timeout() {
    let settings = [("plinth.realtime.replication_ready_timeout", "1s")];
    let realtime = TestRealtime::with(&settings).await;
    realtime.reject_connections().await;
    let (mut waiting, mut other) = (realtime.socket().await, realtime.socket().await);
    let begun = std::time::Instant::now();
    ready(&mut waiting, "realtime:room", json!({})).await;
    other.join_ok("1", "realtime:room").await;

    let frame = waiting.next().await;
    assert!(begun.elapsed().as_millis() >= 1000);
    assert_eq!(
        frame,
        json!(["1", null, "realtime:room", "system", {
            "extension": "system",
            "status": "error",
            "message": "Replication connection was not established in time",
            "channel": "room",
        }])
    );
    assert_eq!(
        waiting.next().await,
        json!(["1", "1", "realtime:room", "phx_close", {}])
    );
    // No other channel waits for it.
    other.expect_nothing().await;
}

#[tokio::test]
async fn a_replaced_channel_is_not_closed_by_the_replication_timeout() {
    const READY_TIMEOUT: Duration = Duration::from_millis(300);
    let settings = [("plinth.realtime.replication_ready_timeout", "300ms")];
    let realtime = TestRealtime::with(&settings).await;
    realtime.reject_connections().await;
    let mut socket = realtime.socket().await;
    ready(&mut socket, "realtime:room", json!({})).await;

    // The timeout of the first join does not close the second.
    socket.join_ok("2", "realtime:room").await;
    assert_eq!(socket.next().await[3], "phx_close");

    // The timeout of the first join is over by then.
    tokio::time::sleep(READY_TIMEOUT * 2).await;
    socket.expect_nothing().await;
}

#[tokio::test]
async fn messages_beyond_the_rate_are_dropped() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_events_per_second", "1")]).await;
    let mut socket = realtime.socket().await;
    ready(&mut socket, "realtime:room", json!({})).await;
    is_ready(&mut socket).await;

    // Each counts when it is taken and when it is delivered; the average is that of a minute.
    realtime
        .execute("select realtime.send(jsonb_build_object('n', n), 'e', 'room', false) from generate_series(1, 40) n")
        .await;

    for _ in 0..30 {
        socket.message().await;
    }
    realtime
        .wait_for_metric("realtime_channel_events", |value| value >= 60.0)
        .await;
    socket.expect_nothing().await;
}
