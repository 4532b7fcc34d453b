//! Lost databases and clients, and exceeded limits.

use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{future::join_all, stream};
use plinth_db::PoolConfig;
use plinth_project::BodyLimit;
use serde_json::json;

use crate::support::{
    Database, Listener, RecordedMetrics, Requests, RestReply, Sql, TestApi, until,
};

/// Queries of the service that are running now.
const BUSY: &str = "select count(*) from pg_stat_activity where datname = current_database() \
                    and usename = 'rest_login' and state = 'active' and query like '%sleep%'";

fn tiny_pool() -> PoolConfig {
    PoolConfig {
        size: 1,
        acquire_timeout: Duration::from_millis(200),
        ..PoolConfig::default()
    }
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_query_along() {
    let api = TestApi::own_library().await;
    let listener = Listener::start(api.router()).await;
    let admin = api.db.admin().await;
    let busy = async || {
        admin
            .query_one(BUSY, &[])
            .await
            .expect("a count")
            .get::<_, i64>(0)
    };

    let stream = listener
        .send("GET /rpc/sleep?seconds=30 HTTP/1.1\r\nHost: x\r\n\r\n")
        .await;
    until(async || busy().await == 1).await;
    drop(stream);
    let left = Instant::now();
    until(async || busy().await == 0).await;

    // The statement timeout of anonymous callers is three seconds.
    assert!(
        left.elapsed() < Duration::from_secs(2),
        "{:?}",
        left.elapsed()
    );
}

#[tokio::test]
async fn a_slow_query_ends_with_its_roles_timeout() {
    let db = Database::fresh().await;
    db.execute("alter role anon in database DATABASE set statement_timeout = '100ms'")
        .await;
    let api = TestApi::standalone(db, &[("db-schemas", "library")]).await;

    let reply = api.get("/rpc/sleep?seconds=20").await;

    reply.expect_error(500, "57014", "canceling statement due to statement timeout");
    assert_eq!(
        api.get("/books").await.status,
        200,
        "the connection is of use again"
    );
}

#[tokio::test]
async fn without_a_free_connection_only_the_database_is_out_of_reach() {
    let recorded = RecordedMetrics::of_thread();
    let settings = [("db-schemas", "library")];
    let api = TestApi::pooled(Database::fresh().await, &settings, tiny_pool()).await;
    assert_eq!(api.get("/books").await.status, 200);
    let router = api.router();
    let blocked = tokio::spawn(async move {
        crate::support::Call::new(router, http::Method::GET, "/rpc/sleep?seconds=2").await
    });
    let admin = api.db.admin().await;
    until(async || {
        admin
            .query_one(BUSY, &[])
            .await
            .expect("a count")
            .get::<_, i64>(0)
            == 1
    })
    .await;

    let waited = api.get("/books").await;
    let message = "Timed out acquiring connection from connection pool.";
    waited.expect_error(504, "PGRST003", message);
    assert_eq!(recorded.value("pgrst_db_pool_timeouts_total", &[]), 1.0);
    api.get("/no/such/path")
        .await
        .expect_error_code(404, "PGRST125");
    api.get("/nowhere").await.expect_error_code(404, "PGRST205");
    api.get("/books?select=nothing(*)")
        .await
        .expect_error_code(400, "PGRST200");
    api.get("/books")
        .bearer("a.b")
        .await
        .expect_error_code(401, "PGRST301");
    api.post("/books", json!({ "colour": 1 }))
        .await
        .expect_error_code(400, "PGRST204");
    assert_eq!(api.options("/books").await.status, 200);

    let slept = blocked.await.expect("it ends");
    assert!(slept.status == 200, "{slept:#?}");
    assert_eq!(api.get("/books").await.status, 200);
}

#[tokio::test]
async fn killed_backends_cost_a_retry_and_nothing_more() {
    let api = TestApi::own_library().await;
    assert_eq!(api.get("/books").await.status, 200);
    let load =
        || join_all((0..20).map(|n| api.get(&format!("/books?id=gt.{}", n % 4)).into_future()));

    for _ in 0..3 {
        let (replies, ()) = tokio::join!(load(), api.db.terminate_connections());
        for reply in replies {
            match reply.status.as_u16() {
                200 => {}
                503 => {
                    assert!(reply.has_error_body(), "{reply:#?}");
                    reply.expect_header("retry-after", "1");
                }
                _ => panic!("{reply:#?}"),
            }
        }
    }

    until(async || api.get("/books").await.status == 200).await;
    assert!(load().await.iter().all(|reply| reply.status == 200));
}

#[tokio::test]
async fn a_killed_backend_gives_a_retryable_error() {
    let api = TestApi::own_library().await;
    let admin = api.db.admin().await;
    let kill = async {
        until(async || {
            admin
                .query_one(BUSY, &[])
                .await
                .expect("a count")
                .get::<_, i64>(0)
                == 1
        })
        .await;
        api.db.terminate_connections().await;
    };

    let (reply, ()) = tokio::join!(api.get("/rpc/sleep?seconds=2").into_future(), kill);

    assert_eq!(reply.status, 503, "{reply:#?}");
    assert!(reply.has_error_body(), "{reply:#?}");
    reply.expect_header("retry-after", "1");
}

#[tokio::test]
async fn an_unreachable_database_is_reported_and_reconnected() {
    let api = TestApi::own_library().await;
    assert_eq!(api.get("/books").await.status, 200);

    api.db.allow_connections(false).await;
    api.db.terminate_connections().await;
    until(async || api.get("/books").await.status == 503).await;
    let reply = api.get("/books").await;
    api.db.allow_connections(true).await;

    reply
        .expect_error_code(503, "PGRST000")
        .expect_header("retry-after", "1");
    assert_eq!(reply.json()["message"], "Database connection error.");
    until(async || api.get("/books").await.status == 200).await;
}

#[tokio::test]
async fn without_a_schema_there_is_nothing_to_serve() {
    let db = Database::fresh().await;
    db.allow_connections(false).await;
    let api = TestApi::standalone(db, &[("db-schemas", "library")]).await;

    let reply = api.get("/books").await;

    let message = "Could not query the database for the schema cache. Retrying.";
    reply
        .expect_error(503, "PGRST002", message)
        .expect_header("retry-after", "1");
}

#[tokio::test]
async fn a_body_beyond_the_limit_has_an_error_code_of_our_own() {
    let api = TestApi::own_library().await;

    let reply = api
        .post("/with_defaults", json!({}))
        .with(|request| {
            let limit = BodyLimit::new(10);
            request.extensions_mut().insert(limit.clone());
            let pieces = ["[{\"c\":\"".to_owned(), "x".repeat(20)].map(Bytes::from);
            let pieces = pieces
                .into_iter()
                .enumerate()
                .map(move |(number, piece)| match number {
                    0 => Ok(piece),
                    _ => {
                        limit.mark_exceeded();
                        Err(std::io::Error::other("length limit exceeded"))
                    }
                });
            *request.body_mut() = Body::from_stream(stream::iter(pieces));
        })
        .await;

    assert_eq!(reply.status, 413, "{reply:#?}");
    reply.expect_error_code(413, "PLINTH413");
    assert_eq!(reply.json()["message"], "The body is larger than 10 bytes");
}

#[tokio::test]
async fn without_a_gateway_bodies_have_a_limit_too() {
    let api = TestApi::own_library().await;

    let reply = api
        .post("/with_defaults", json!({}))
        .with(|request| {
            let pieces = std::iter::repeat_n(Bytes::from(vec![b' '; 1 << 20]), 51);
            let pieces = pieces.map(Ok::<_, std::io::Error>);
            *request.body_mut() = Body::from_stream(stream::iter(pieces));
        })
        .await;

    reply.expect_error_code(413, "PLINTH413");
}

#[tokio::test]
async fn a_path_that_is_no_text_is_a_bad_request() {
    let api = TestApi::library().await;

    api.get("/%FF").await.expect_error_code(400, "PGRST100");
    api.get("/rpc/%FF").await.expect_error_code(400, "PGRST100");
}
