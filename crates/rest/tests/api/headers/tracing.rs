//! Headers for tracing and timing (§3.7).

use crate::support::{Database, Requests, TestApi};

#[tokio::test]
async fn the_parts_of_the_work_are_timed_in_order() {
    let settings = [("db-schemas", "library"), ("server-timing-enabled", "true")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    for call in [api.get("/books"), api.options("/books"), api.get("/")] {
        let reply = call.await;
        let timing = reply.header("server-timing").expect("a timing");
        let mut names = Vec::new();
        for entry in timing.split(", ") {
            let (name, duration) = entry.split_once(";dur=").expect("a duration");
            let (_, decimals) = duration.split_once('.').expect("milliseconds");
            assert_eq!(decimals.len(), 1, "{timing}");
            names.push(name);
        }
        assert_eq!(names, ["jwt", "parse", "plan", "transaction", "response"]);
    }
    api.get("/nowhere").await.expect_no_header("server-timing");
    TestApi::library()
        .await
        .get("/books")
        .await
        .expect_no_header("server-timing");
}

#[tokio::test]
async fn the_trace_header_is_echoed_on_every_response() {
    let settings = [
        ("db-schemas", "library"),
        ("server-trace-header", "X-Request-Id"),
    ];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    for path in ["/books", "/nowhere", "/"] {
        let reply = api.get(path).header("X-Request-Id", "abc").await;
        reply.expect_header("x-request-id", "abc");
        api.get(path).await.expect_header("x-request-id", "");
    }
}

#[tokio::test]
async fn the_place_of_the_content_is_canonical() {
    let api = TestApi::library().await;

    let sorted = api.get("/books?select=id&limit=1&id=gt.0&id=lt.9").await;
    let plain = api.get("/books").await;

    sorted.expect_header("content-location", "/books?id=gt.0,lt.9&limit=1&select=id");
    plain.expect_header("content-location", "/books");
}
