//! Requests from other origins (§3.9).

use crate::support::{Database, Requests, TestApi};

const EXPOSED: &str = "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, \
                       Location, Server, Transfer-Encoding, Range-Unit";

#[tokio::test]
async fn responses_and_errors_may_be_read_by_any_origin() {
    let api = TestApi::library().await;

    for path in ["/books", "/nowhere"] {
        let reply = api.get(path).header("Origin", "https://app.example").await;
        reply
            .expect_header("access-control-allow-origin", "*")
            .expect_header("access-control-expose-headers", EXPOSED)
            .expect_no_header("access-control-allow-credentials");
    }
    let same = api.get("/books").await;
    same.expect_no_header("access-control-allow-origin")
        .expect_no_header("access-control-expose-headers");
}

#[tokio::test]
async fn the_full_server_lets_scripts_read_more() {
    let api = TestApi::full(Database::shared().await, &[]).await;

    let reply = api
        .get("/users")
        .header("Origin", "https://app.example")
        .await;

    let more = "Preference-Applied, Proxy-Status, Retry-After, Server-Timing, Content-Profile";
    reply.expect_header(
        "access-control-expose-headers",
        &format!("{EXPOSED}, {more}"),
    );
}

#[tokio::test]
async fn named_origins_get_credentials_and_others_nothing() {
    let origins = [
        ("db-schemas", "library"),
        (
            "server-cors-allowed-origins",
            "https://app.example, https://other.example",
        ),
    ];
    let api = TestApi::standalone(Database::shared().await, &origins).await;

    let known = api
        .get("/books")
        .header("Origin", "https://other.example")
        .await;
    let unknown = api
        .get("/books")
        .header("Origin", "https://evil.example")
        .await;

    known
        .expect_header("access-control-allow-origin", "https://other.example")
        .expect_header("access-control-allow-credentials", "true");
    assert_eq!(unknown.status, 200);
    unknown.expect_no_header("access-control-allow-origin");
}

#[tokio::test]
async fn options_that_are_no_preflight_describe_the_table() {
    let api = TestApi::library().await;

    let reply = api
        .options("/books")
        .header("Origin", "https://app.example")
        .await;

    assert!(reply.header("allow").is_some(), "{reply:#?}");
    reply.expect_header("access-control-allow-origin", "*");
}
