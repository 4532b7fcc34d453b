//! Broadcasts without a socket (§6.3, §6.4).

use http::StatusCode;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::{
    ANN, PUBLISHABLE_KEY, Reply, SECRET_KEY, Socket, Sql, TestRealtime, user_token,
};

const KEY: (&str, &str) = ("apikey", PUBLISHABLE_KEY);
const BATCH: &str = "/api/broadcast";

fn batch(messages: Value) -> String {
    json!({ "messages": messages }).to_string()
}

/// The next broadcast: its event, and its payload as it was sent.
async fn heard(socket: &mut Socket) -> (String, Vec<u8>) {
    match socket.message().await {
        Message::Binary(frame) => {
            let sizes = [1, 2, 3].map(|at| usize::from(frame[at]));
            let event = 5 + sizes[0];
            let payload = event + sizes[1] + sizes[2];
            let name = String::from_utf8_lossy(&frame[event..event + sizes[1]]);
            (name.into_owned(), frame[payload..].to_vec())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_message_is_any_json_or_any_bytes() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:a:b/c").await;
    let json_type = ("content-type", "application/json; charset=utf-8");
    let bytes_type = ("content-type", "Application/Octet-Stream");
    // What the client adds to the query means nothing here.
    let path = "/api/broadcast/a%3Ab%2Fc/events/news%20%C3%A4?apikey=x&vsn=2.0.0";

    for (header, body) in [
        (json_type, &b"{ \"n\": 1.0 }"[..]),
        (json_type, b"[1, null]"),
        (json_type, b"\"text\""),
        (bytes_type, b"\x00\xff"),
        (bytes_type, b""),
    ] {
        let response = realtime.post(path, &[KEY, header], body).await;
        assert_eq!(response.status, StatusCode::ACCEPTED, "{response:?}");
        assert_eq!(response.body, "");
        assert!(response.header("x-rate-limit-remaining").is_some());
        assert_eq!(heard(&mut socket).await, ("news ä".into(), body.to_vec()));
    }
    let response = realtime.post(path, &[KEY], "{}").await;
    assert_eq!(response.status, StatusCode::ACCEPTED, "JSON is the default");
    heard(&mut socket).await;
    socket.expect_nothing().await;
}

#[tokio::test]
async fn a_message_that_cannot_be_sent_gets_an_error_that_is_never_404() {
    let small = [("plinth.realtime.max_payload_size_in_kb", "1")];
    let realtime = TestRealtime::with(&small).await;
    let path = "/api/broadcast/a/events/e";
    let blank = json!(["can't be blank"]);

    let refusals = [
        ("/api/broadcast//events/e", json!({"topic": blank})),
        ("/api/broadcast/a/events/", json!({"event": blank})),
        (
            "/api/broadcast//events/",
            json!({"topic": blank, "event": blank}),
        ),
    ];
    for (path, errors) in refusals {
        let response = realtime.post(path, &[KEY], "{}").await;
        assert_eq!(response.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        assert_eq!(response.json(), json!({ "errors": errors }));
    }
    let text = ("content-type", "text/plain");
    let response = realtime.post(path, &[KEY, text], "{}").await;
    assert_eq!(response.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let supported = "Unsupported Media Type. Use application/json or application/octet-stream";
    assert_eq!(response.json(), json!({ "error": supported }));
    let response = realtime.post(path, &[KEY], "{").await;
    assert_eq!(response.status, StatusCode::BAD_REQUEST);
    let large = json!({"x": "x".repeat(1600)}).to_string();
    let response = realtime.post(path, &[KEY], &large).await;
    assert_eq!(response.status, StatusCode::UNPROCESSABLE_ENTITY);
    let too_large = json!(["Payload size exceeds tenant limit"]);
    assert_eq!(response.json(), json!({"errors": {"payload": too_large}}));
    for headers in [
        &[][..],
        &[("apikey", "sb_publishable_unknown")],
        &[KEY, ("authorization", "Bearer nonsense")],
    ] {
        let response = realtime.post(path, headers, "{}").await;
        assert_eq!(response.status, StatusCode::UNAUTHORIZED, "{headers:?}");
        assert_eq!(response.json(), json!({"message": "Unauthorized"}));
    }
}

#[tokio::test]
async fn private_messages_go_where_policies_let_them() {
    let realtime = TestRealtime::start().await;
    let policies = "create policy hears on realtime.messages for select using (true);
        create policy speaks on realtime.messages for insert to authenticated
            with check (realtime.topic() = 'open')";
    realtime.execute(policies).await;
    let mut socket = realtime.socket().await;
    for (reference, topic) in [("1", "realtime:open"), ("2", "realtime:shut")] {
        let reply = socket
            .join(reference, topic, json!({"config": {"private": true}}))
            .await;
        assert_eq!(reply["status"], "ok", "{reply}");
    }
    let bearer = format!("Bearer {}", user_token(ANN));
    let ann = ("authorization", &*bearer);

    // A single message without permission is an error.
    let single = |topic: &str| format!("/api/broadcast/{topic}/events/e?private=true");
    let response = realtime.post(&single("shut"), &[ann], "1").await;
    assert_eq!(response.status, StatusCode::FORBIDDEN);
    assert_eq!(response.json(), json!({"message": "Unauthorized"}));
    let response = realtime.post(&single("open"), &[ann], "1").await;
    assert_eq!(response.status, StatusCode::ACCEPTED);
    assert_eq!(heard(&mut socket).await.1, b"1");

    // In a batch it is dropped without one.
    let message =
        |topic, n| json!({"topic": topic, "event": "e", "payload": {"n": n}, "private": true});
    let body = batch(json!([message("shut", 2), message("open", 3)]));
    let response = realtime.post(BATCH, &[ann], body).await;
    assert_eq!(response.status, StatusCode::ACCEPTED);
    assert_eq!(heard(&mut socket).await.1, br#"{"n":3}"#);
    // A public message of the same name is for another topic.
    let public = json!([{"topic": "open", "event": "e", "payload": {}}]);
    let response = realtime.post(BATCH, &[ann], batch(public)).await;
    assert_eq!(response.status, StatusCode::ACCEPTED);
    socket.expect_nothing().await;
}

#[tokio::test]
async fn a_failing_policy_is_reported() {
    let realtime = TestRealtime::start().await;
    let policy = "create policy fails on realtime.messages for insert
        with check (length(realtime.topic()) / 0 = 1)";
    realtime.execute(policy).await;

    let path = "/api/broadcast/a/events/e?private=true";
    let response = realtime.post(path, &[KEY], "{}").await;

    assert_eq!(response.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(response.json(), json!({"message": "RLS policy error"}));
}

#[tokio::test]
async fn keys_are_taken_in_the_place_of_tokens() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:a").await;
    let messages = batch(json!([{"topic": "a", "event": "e", "payload": {}}]));

    for key in [PUBLISHABLE_KEY, SECRET_KEY] {
        let bearer = format!("Bearer {key}");
        let response = realtime
            .post(BATCH, &[("authorization", &bearer)], &messages)
            .await;
        assert_eq!(response.status, StatusCode::ACCEPTED, "{response:?}");
        heard(&mut socket).await;
    }
}

#[tokio::test]
async fn senders_over_the_rate_limit_are_rejected() {
    let realtime = TestRealtime::with(&[("plinth.realtime.max_events_per_second", "2")]).await;
    let message = json!({"topic": "a", "event": "e", "payload": {}});
    let send = async |count: usize| {
        let body = batch(vec![message.clone(); count].into());
        realtime.post(BATCH, &[KEY], body).await
    };
    let too_many = |response: &Reply, why: &str| {
        assert_eq!(
            response.status,
            StatusCode::TOO_MANY_REQUESTS,
            "{response:?}"
        );
        assert_eq!(response.json(), json!({ "message": why }));
    };

    let response = send(3).await;
    too_many(
        &response,
        "Too many messages to broadcast, please reduce the batch size",
    );
    // The average is that of a minute: 120 of them make two per second.
    for _ in 0..120 {
        assert_eq!(send(1).await.status, StatusCode::ACCEPTED);
    }
    too_many(&send(1).await, "Too many requests");
    let response = realtime
        .post("/api/broadcast/a/events/e", &[KEY], "{}")
        .await;
    too_many(&response, "You have exceeded your rate limit");
}

#[tokio::test]
async fn a_disabled_service_rejects_broadcasts() {
    let realtime = TestRealtime::with(&[("realtime.enabled", "false")]).await;

    let response = realtime.post(BATCH, &[KEY], "{}").await;

    assert_eq!(response.status, StatusCode::FORBIDDEN);
    assert_eq!(response.json(), json!({"message": "Tenant is suspended"}));
}
