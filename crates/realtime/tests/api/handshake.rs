//! Opening a socket (§2).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::StatusCode;
use plinth_testkit::Traces;
use plinth_token::SigningKey;
use serde_json::json;

use crate::support::{
    ANN, PUBLISHABLE_KEY, SECRET, SECRET_KEY, Socket, TestRealtime, now, sign, user_token,
};

#[tokio::test]
async fn keys_and_tokens_open_a_socket() {
    let realtime = TestRealtime::start().await;
    let anon = sign(&json!({ "role": "anon", "exp": now() + 60 }));
    for key in [PUBLISHABLE_KEY, SECRET_KEY, &anon, &user_token(ANN)] {
        let mut socket = realtime.open(&format!("apikey={key}&vsn=2.0.0")).await;
        socket.expect_nothing().await;
    }
}

#[tokio::test]
async fn tokens_of_the_secret_may_have_longer_hashes() {
    let realtime = TestRealtime::start().await;
    let claims = json!({ "role": "anon", "exp": now() + 60 });
    for algorithm in ["HS384", "HS512"] {
        let of = |secret: &str| {
            let k = BASE64_URL_SAFE_NO_PAD.encode(secret);
            let jwk = json!({ "kty": "oct", "alg": algorithm, "k": k }).to_string();
            let key = SigningKey::from_private_jwk(&jwk).expect("a key");
            key.sign(&claims).expect("signed")
        };
        realtime
            .open(&format!("vsn=2.0.0&apikey={}", of(SECRET)))
            .await;
        let query = format!("vsn=2.0.0&apikey={}", of("somebody else's secret"));
        let rejected = realtime.rejection(&query).await;
        let expected = json!({ "error": "Failed to validate JWT signature" });
        assert_eq!(rejected.body, expected, "{algorithm}");
    }
}

#[tokio::test]
async fn a_header_wins_over_the_query() {
    let realtime = TestRealtime::start().await;
    let headers = [("x-api-key", PUBLISHABLE_KEY)];
    let opened = Socket::open(realtime.address, "vsn=2.0.0&apikey=nonsense", &headers).await;
    assert!(opened.is_ok());
}

#[tokio::test]
async fn what_is_around_a_key_does_not_matter() {
    let realtime = TestRealtime::start().await;
    let token = user_token(ANN);
    for key in [format!("%20{token}%0A"), format!("+{PUBLISHABLE_KEY}")] {
        realtime.open(&format!("vsn=2.0.0&apikey={key}")).await;
    }
}

#[tokio::test]
async fn rejections_name_their_reason() {
    let realtime = TestRealtime::start().await;
    let check = async |query: String, expected: &str| {
        let rejected = realtime.rejection(&format!("vsn=2.0.0&{query}")).await;
        assert_eq!(rejected.status, StatusCode::UNAUTHORIZED, "{query}");
        assert_eq!(rejected.body, json!({ "error": expected }), "{query}");
    };
    check(String::new(), "API key is missing").await;
    check("apikey=".to_owned(), "API key is missing").await;
    let malformed = "The token provided is not a valid JWT";
    check("apikey=nonsense".to_owned(), malformed).await;
    let unknown = "Failed to validate JWT signature";
    check("apikey=sb_publishable_unknown".to_owned(), unknown).await;
    let of = |claims| format!("apikey={}", sign(&claims));
    check(
        of(json!({ "role": "anon", "exp": now() - 60 })),
        "Token has expired",
    )
    .await;
    // REST would still take this one.
    check(
        of(json!({ "role": "anon", "exp": now() - 5 })),
        "Token has expired",
    )
    .await;
    let lacking = "Fields `role` and `exp` are required in JWT";
    check(of(json!({ "role": "anon" })), lacking).await;
    check(of(json!({ "exp": now() + 60 })), lacking).await;
    check(of(json!({ "role": "anon", "exp": "soon" })), lacking).await;
}

#[tokio::test]
async fn other_versions_are_rejected_without_a_body() {
    let realtime = TestRealtime::start().await;
    for version in ["3.0.0", "1.1.0", "x", ""] {
        let query = format!("apikey={PUBLISHABLE_KEY}&vsn={version}");
        let rejected = realtime.rejection(&query).await;
        assert_eq!(rejected.status, StatusCode::FORBIDDEN, "{version}");
        assert_eq!(rejected.body, serde_json::Value::Null);
    }
    realtime.open(&format!("apikey={PUBLISHABLE_KEY}")).await;
    let query = format!("apikey={PUBLISHABLE_KEY}&vsn=1.0.0&eventsPerSecond=7&log_level=nonsense");
    realtime.open(&query).await;
}

#[tokio::test]
async fn a_disabled_service_rejects_handshakes() {
    let realtime = TestRealtime::with(&[("realtime.enabled", "false")]).await;
    let rejected = realtime
        .rejection(&format!("apikey={PUBLISHABLE_KEY}&vsn=2.0.0"))
        .await;
    assert_eq!(rejected.status, StatusCode::FORBIDDEN);
    assert_eq!(
        rejected.body,
        json!({ "error": "Realtime was disabled for this tenant" })
    );
}

#[tokio::test]
async fn only_a_get_opens_a_socket() {
    let realtime = TestRealtime::start().await;
    let path = format!("/websocket?apikey={PUBLISHABLE_KEY}&vsn=2.0.0");
    assert_eq!(
        realtime.post(&path, &[], "").await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(realtime.get(&path).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_client_may_have_its_own_mistakes_logged() {
    let realtime = TestRealtime::start().await;
    let logged = async |parameter: &str| {
        let traces = Traces::capture();
        let query = format!("apikey={PUBLISHABLE_KEY}&vsn=2.0.0{parameter}");
        let mut socket = realtime.open(&query).await;
        socket.send_text("nonsense").await;
        let rejected = socket.join("1", "realtime:", json!({"config": 7})).await;
        assert_eq!(rejected["status"], "error");
        socket.join_ok("2", "realtime:r").await;
        socket
            .send(json!(["2", "3", "realtime:r", "whatever", {}]))
            .await;
        socket.expect_nothing().await;
        let text = traces.text();
        let codes = [
            "MalformedWebSocketMessage",
            "InvalidJoinPayload",
            "TopicNameRequired",
            "UnknownEvent",
        ];
        codes.map(|code| {
            let line = text.lines().find(|line| line.contains(code));
            let line = line.unwrap_or_else(|| panic!("no {code} in {text}"));
            ["DEBUG", "INFO", "WARN", "ERROR"]
                .into_iter()
                .find(|level| line.contains(level))
                .expect("a level")
        })
    };
    assert_eq!(logged("").await, ["DEBUG"; 4]);
    assert_eq!(logged("&log_level=error").await, ["DEBUG"; 4]);
    assert_eq!(logged("&log_level=nonsense").await, ["DEBUG"; 4]);
    assert_eq!(
        logged("&log_level=warning").await,
        ["WARN", "WARN", "WARN", "DEBUG"]
    );
    assert_eq!(
        logged("&log_level=info").await,
        ["WARN", "WARN", "WARN", "INFO"]
    );
}
