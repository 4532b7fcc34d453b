//! Client contract §3.3: responses, failures and retries.

use std::sync::Arc;
use std::time::Duration;

use plinth_client::Http;
use plinth_client::rest::Count;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Bench, NOW_S, Reply, rejected, settle};

const READ: &str = "GET /rest/v1/t";

#[derive(Debug, PartialEq, Deserialize)]
struct Row {
    id: i64,
}

#[tokio::test]
async fn rows_come_typed_with_their_count() {
    let bench = Bench::new();
    let response = Reply::json(206, json!([{ "id": 1 }, { "id": 2 }]));
    bench
        .server
        .on(READ, [response.header("content-range", "0-1/42")]);

    let query = bench.client().from("t").select("id").count(Count::Exact);
    let rows = query.execute_as::<Vec<Row>>().await.unwrap();

    assert_eq!(rows.data, [Row { id: 1 }, Row { id: 2 }]);
    assert_eq!((rows.count, rows.status), (Some(42), 206));
}

#[tokio::test]
async fn an_unknown_count_is_none() {
    let bench = Bench::new();
    bench.server.on(
        READ,
        [Reply::json(200, json!([])).header("content-range", "0-1/*")],
    );

    assert_eq!(
        bench
            .client()
            .from("t")
            .select("*")
            .execute()
            .await
            .unwrap()
            .count,
        None
    );
}

#[tokio::test]
async fn one_row_or_none_comes_as_itself() {
    let bench = Bench::new();
    let rows = |rows: Value| Reply::json(200, rows);
    bench.server.on(
        READ,
        [
            rows(json!([{ "id": 7 }])),
            rows(json!([])),
            rows(json!([{ "id": 7 }, { "id": 8 }])),
        ],
    );
    let client = bench.client();
    let read = || {
        client
            .from("t")
            .select("*")
            .maybe_single()
            .execute_as::<Option<Row>>()
    };

    assert_eq!(read().await.unwrap().data, Some(Row { id: 7 }));
    assert_eq!(read().await.unwrap().data, None);
    let error = read().await.unwrap_err();
    assert_eq!((error.code.as_str(), error.status), ("PGRST116", 406));
    assert_eq!(
        error.details.as_deref(),
        Some("Results contain 2 rows, application/vnd.pgrst.object+json requires 1 row")
    );
}

#[tokio::test]
async fn texts_and_nothing_have_types_too() {
    let bench = Bench::new();
    bench.server.on(READ, [Reply::text(200, "id\n1\n")]);
    bench.server.on("POST /rest/v1/t", [Reply::text(201, "")]);
    bench.server.on(
        "HEAD /rest/v1/t",
        [Reply::text(200, "").header("content-range", "*/3")],
    );
    let client = bench.client();

    let csv = client
        .from("t")
        .select("*")
        .csv()
        .execute_as::<String>()
        .await
        .unwrap();
    assert_eq!(csv.data, "id\n1\n");
    let added = client
        .from("t")
        .insert(&json!({}))
        .execute_as::<()>()
        .await
        .unwrap();
    assert_eq!(added.status, 201);
    let head = client
        .from("t")
        .select("*")
        .head()
        .count(Count::Exact)
        .execute()
        .await
        .unwrap();
    assert_eq!((head.data, head.count), (Value::Null, Some(3)));
}

#[tokio::test]
async fn errors_keep_the_servers_fields() {
    let bench = Bench::new();
    let body =
        json!({ "code": "42501", "message": "permission denied", "details": "d", "hint": "h" });
    bench
        .server
        .on(READ, [Reply::json(403, body), Reply::text(418, "teapot")]);
    let client = bench.client();

    let error = client.from("t").select("*").execute().await.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("42501", "permission denied")
    );
    assert_eq!(
        (error.details.as_deref(), error.hint.as_deref()),
        (Some("d"), Some("h"))
    );
    let error = client.from("t").select("*").execute().await.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.message.as_str(), error.status),
        ("", "teapot", 418)
    );
}

#[tokio::test]
async fn a_404_with_a_list_or_nothing_is_no_error() {
    let bench = Bench::new();
    let missing = json!({ "code": "PGRST205", "message": "no such table" });
    bench.server.on(
        READ,
        [
            Reply::json(404, json!([])),
            Reply::text(404, ""),
            Reply::json(404, missing),
        ],
    );
    let client = bench.client();
    let read = || client.from("t").select("*").execute();

    let empty = read().await.unwrap();
    assert_eq!((empty.data, empty.status), (json!([]), 200));
    let nothing = read().await.unwrap();
    assert_eq!((nothing.data, nothing.status), (Value::Null, 204));
    assert_eq!(read().await.unwrap_err().code, "PGRST205");
}

#[tokio::test]
async fn a_response_of_another_shape_is_an_error_and_no_panic() {
    let bench = Bench::new();
    bench.server.on(
        READ,
        [
            Reply::json(200, json!([{ "id": "x" }])),
            Reply::text(200, "<html>"),
        ],
    );
    let client = bench.client();

    for _ in 0..2 {
        let read = client.from("t").select("*").execute_as::<Vec<Row>>().await;
        let error = read.unwrap_err();
        assert_eq!((error.code.as_str(), error.status), ("", 200));
    }
}

#[tokio::test]
async fn k13_reads_are_tried_three_more_times() {
    for failure in [Reply::text(503, ""), Reply::text(520, ""), Reply::broken()] {
        let bench = Bench::auto_advancing();
        bench.server.on(READ, [failure]);

        let error = bench
            .client()
            .from("t")
            .select("*")
            .execute()
            .await
            .unwrap_err();

        assert!(error.is_retryable());
        let asked = bench.server.asked();
        let at: Vec<i64> = asked
            .iter()
            .map(|asked| asked.at_ms - NOW_S * 1000)
            .collect();
        assert_eq!(at, [0, 1000, 3000, 7000]);
        let counts: Vec<_> = asked
            .iter()
            .map(|asked| asked.header("x-retry-count"))
            .collect();
        assert_eq!(counts, [None, Some("1"), Some("2"), Some("3")]);
    }
}

#[tokio::test]
async fn k13_the_server_may_name_the_wait_and_success_ends_it() {
    let bench = Bench::auto_advancing();
    let busy = Reply::text(503, "").header("retry-after", "9");
    bench.server.on(READ, [busy, Reply::json(200, json!([]))]);

    bench
        .client()
        .from("t")
        .select("*")
        .execute()
        .await
        .unwrap();

    assert_eq!(bench.server.last().at_ms - NOW_S * 1000, 9000);
    assert_eq!(bench.server.asked().len(), 2);
}

#[tokio::test]
async fn k13_writes_and_those_who_do_not_want_it_are_sent_once() {
    let bench = Bench::auto_advancing();
    for method in ["GET", "POST", "PATCH", "DELETE"] {
        bench
            .server
            .on(&format!("{method} /rest/v1/t"), [Reply::text(503, "")]);
    }
    bench
        .server
        .on("POST /rest/v1/rpc/f", [Reply::text(503, "")]);
    let client = bench.client();

    client
        .from("t")
        .insert(&json!({}))
        .execute()
        .await
        .unwrap_err();
    client
        .from("t")
        .update(&json!({}))
        .execute()
        .await
        .unwrap_err();
    client.from("t").delete().execute().await.unwrap_err();
    client.rpc("f", &json!({})).execute().await.unwrap_err();
    client
        .from("t")
        .select("*")
        .retry(false)
        .execute()
        .await
        .unwrap_err();
    let quiet = bench
        .builder()
        .auto_refresh(false)
        .retry(false)
        .build()
        .unwrap();
    quiet.from("t").select("*").execute().await.unwrap_err();

    assert_eq!(bench.server.asked().len(), 6);
}

#[tokio::test]
async fn a_query_has_a_time_limit_of_its_own_or_the_clients() {
    let bench = Bench::auto_advancing();
    let gate = Arc::new(Semaphore::new(0));
    bench
        .server
        .on(READ, [Reply::json(200, json!([])).behind(&gate)]);
    let builder = || bench.builder().auto_refresh(false);
    let limit = Duration::from_secs(2);

    let query = builder()
        .build()
        .unwrap()
        .from("t")
        .select("*")
        .timeout(limit);
    let error = query.execute().await.unwrap_err();
    assert!(error.message.contains("timed out"), "{error}");
    let client = builder().timeout(limit).build().unwrap();
    assert!(client.from("t").select("*").execute().await.is_err());

    // The server may still be at work: what timed out is not sent again.
    assert_eq!(bench.server.routes(), [READ, READ]);
}

#[tokio::test]
async fn a_query_waits_for_the_session_no_longer_than_for_its_response() {
    let bench = Bench::new();
    bench.store_session(-10).await;
    let never = Arc::new(Semaphore::new(0));
    let hanging = Reply::json(200, json!({})).behind(&never);
    bench.server.on("POST /auth/v1/token", [hanging]);

    let query = bench.client().from("t").select("*");
    let query = query.timeout(Duration::from_secs(2)).execute();
    let (error, ()) = tokio::join!(query, async {
        settle().await;
        bench.advance(2);
    });

    assert_eq!(error.unwrap_err().message, "the request timed out");
    assert_eq!(bench.server.routes(), ["POST /auth/v1/token"]);
}

#[tokio::test]
async fn k13_a_server_that_asks_for_a_long_wait_is_not_waited_for() {
    let bench = Bench::auto_advancing();
    for seconds in ["31", "18446744073709551615"] {
        let busy = Reply::text(503, "").header("retry-after", seconds);
        bench.server.on(READ, [busy, Reply::json(200, json!([]))]);

        let error = bench.client().from("t").select("*").execute().await;

        assert_eq!(error.unwrap_err().status, 503);
    }
    assert_eq!(bench.server.asked().len(), 2);
}

#[tokio::test]
async fn a_query_can_be_cancelled() {
    let bench = Bench::new();
    let gate = Arc::new(Semaphore::new(0));
    bench
        .server
        .on(READ, [Reply::json(200, json!([])).behind(&gate)]);
    let (cancel, cancelled) = tokio::sync::oneshot::channel::<()>();

    let query = bench.client().from("t").select("*").cancel_on(async {
        _ = cancelled.await;
    });
    let (result, ()) = tokio::join!(query.execute(), async { cancel.send(()).unwrap() });

    assert!(result.unwrap_err().message.contains("cancelled"));
    assert_eq!(bench.server.asked().len(), 1);
}

#[tokio::test]
async fn a_query_may_go_another_way() {
    let (bench, other) = (Bench::new(), Bench::new());
    other.server.on(READ, [Reply::json(200, json!([]))]);

    let query = bench
        .client()
        .from("t")
        .select("*")
        .http(Http::with_service(other.server.clone()));
    query.execute().await.unwrap();

    assert_eq!(
        (bench.server.asked().len(), other.server.asked().len()),
        (0, 1)
    );
}

#[tokio::test]
async fn a_session_that_cannot_be_refreshed_does_not_become_anonymous() {
    let bench = Bench::auto_advancing();
    bench.store_session(-10).await;
    bench
        .server
        .on("POST /auth/v1/token", [Reply::text(503, "")]);

    let error = bench
        .client()
        .from("t")
        .select("*")
        .execute()
        .await
        .unwrap_err();

    assert!(error.is_retryable(), "{error:?}");
    assert!(
        bench
            .server
            .routes()
            .iter()
            .all(|route| route == "POST /auth/v1/token")
    );

    let bench = Bench::new();
    bench.store_session(-10).await;
    bench.server.on(
        "POST /auth/v1/token",
        [rejected(400, "refresh_token_not_found")],
    );
    bench.server.on(READ, [Reply::json(200, json!([]))]);
    let client = bench.client();
    let error = client.from("t").select("*").execute().await.unwrap_err();
    assert_eq!(error.status, 400);
    // The session is over; from now on the requests are anonymous.
    client.from("t").select("*").execute().await.unwrap();
}

/// Compiles only if requests can be sent from tasks that change threads.
#[tokio::test]
async fn requests_may_change_threads() {
    fn movable<T: Send>(future: T) -> T {
        future
    }
    let bench = Bench::new();
    bench.server.on(READ, [Reply::json(200, json!([]))]);
    let client = bench.client();

    movable(client.from("t").select("*").execute_as::<Vec<Row>>())
        .await
        .unwrap();
    drop(movable(client.from("t").insert(&json!({})).execute()));
    drop(movable(client.rpc("f", &json!({})).execute()));
    drop(movable(client.auth().session()));
    drop(movable(client.auth().sign_up().send()));
    drop(movable(client.auth().sign_in_with_password().send()));
    drop(movable(client.auth().exchange_code("c").send()));
    drop(movable(client.auth().update_user().send()));
    drop(movable(client.auth().mfa().enroll_totp("x")));
    drop(movable(client.auth().claims_for("x").send()));
    drop(movable(client.auth().events()));
}
