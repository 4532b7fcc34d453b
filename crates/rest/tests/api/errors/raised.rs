//! Functions that raise errors with a status of their own (§7.5).

use serde_json::{Value, json};

use crate::support::{Listener, Requests, RestReply, TestApi};

#[tokio::test]
async fn a_status_may_be_raised_with_its_reason() {
    let api = TestApi::library().await;
    let listener = Listener::start(api.router()).await;
    let body = r#"{"state":"PT402","message":"Payment Required Now","detail":"d","hint":"h"}"#;

    let response_text = listener
        .exchange(&format!(
            "POST /rpc/raise_error HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;

    assert!(
        response_text.starts_with("HTTP/1.1 402 Payment Required Now\r\n"),
        "{response_text}"
    );
    let expected = r#"{"code":"PT402","details":"d","hint":"h","message":"Payment Required Now"}"#;
    assert!(response_text.ends_with(expected), "{response_text}");
}

#[tokio::test]
async fn a_whole_response_may_be_raised() {
    let api = TestApi::library().await;
    let message = json!({ "code": "123", "message": "m", "details": "d", "hint": "h" });
    let detail = json!({ "status": 332, "headers": { "X-Header": "str" }, "status_text": "My" });

    let reply = api
        .post(
            "/rpc/raise_error",
            json!({ "state": "PGRST", "message": message.to_string(), "detail": detail.to_string() }),
        )
        .await;

    reply
        .expect_error_with(332, "123", "m", json!("d"), json!("h"))
        .expect_header("x-header", "str");
}

#[tokio::test]
async fn a_response_that_makes_no_sense_is_explained() {
    let api = TestApi::library().await;
    let message = "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error";
    let message_hint = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and \
                        optional keys: 'details', 'hint'.";
    let detail_hint = "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and \
                       optional key: 'status_text'.";
    let good = r#"{"code":"1","message":"m"}"#;
    let raise = |message: &str, detail: &str| {
        let body = json!({ "state": "PGRST", "message": message, "detail": detail });
        api.post("/rpc/raise_error", body)
    };

    let bad_message = raise("INVALID", "{}").await;
    let bad_detail = raise(good, "INVALID").await;
    let no_detail = api
        .post("/rpc/raise_bare", json!({ "message": good }))
        .await;

    let cases = [
        (
            bad_message,
            "Invalid JSON value for MESSAGE: 'INVALID'",
            message_hint,
        ),
        (
            bad_detail,
            "Invalid JSON value for DETAIL: 'INVALID'",
            detail_hint,
        ),
        (
            no_detail,
            "DETAIL is missing in the RAISE statement",
            detail_hint,
        ),
    ];
    for (reply, details, hint) in cases {
        reply.expect_error_with(500, "PGRST121", message, json!(details), json!(hint));
    }
}

#[tokio::test]
async fn plain_exceptions_are_the_clients_fault_and_assertions_ours() {
    let api = TestApi::library().await;

    let plain = api
        .post(
            "/rpc/raise_error",
            json!({ "state": "P0001", "message": "no" }),
        )
        .await;
    let assertion = api.post("/rpc/fail_assertion", json!({})).await;

    plain.expect_error_with(400, "P0001", "no", json!(""), json!(""));
    assertion.expect_error_with(500, "P0004", "never", Value::Null, Value::Null);
}

#[tokio::test]
async fn settings_of_the_response_must_make_sense() {
    let api = TestApi::library().await;

    let status = api.get("/rpc/respond?status=abc").await;
    let headers = api.get("/rpc/respond?headers={\"X-A\":1}").await;
    let not_text = api.get("/rpc/respond?headers=[{\"X-A\":1}]").await;
    let good = api
        .get("/rpc/respond?status=418&headers=[{\"X-A\":\"1\"},{\"X-A\":\"2\"}]")
        .await;

    status.expect_error(
        500,
        "PGRST112",
        "response.status guc must be a valid status code",
    );
    let message = "response.headers guc must be a JSON array composed of objects with a single key \
                   and a string value";
    headers.expect_error(500, "PGRST111", message);
    not_text.expect_error(500, "PGRST111", message);
    assert_eq!((good.status.as_u16(), good.text()), (418, "\"done\""));
    let values: Vec<_> = good.headers.get_all("x-a").iter().collect();
    assert_eq!(values, ["1", "2"]);
}
