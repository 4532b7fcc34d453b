//! SQL as a stream of JSON lines.

use axum::body::Body;
use futures_util::StreamExt as _;
use http::{Method, Request};
use plinth_platform::api::{self, ControlSocket};
use plinth_project::ProjectName;
use plinth_testkit::until;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{admin_texts, audited, path, platform_with, post, support::TestPlatform, texts};

async fn run(app: &TestPlatform, body: Value) -> Vec<Value> {
    let reply = post(app, "sql", body).await;
    reply
        .expect_ok()
        .expect_header("content-type", "application/x-ndjson");
    let lines = reply.text().lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect()
}

#[tokio::test]
async fn events_are_lines() {
    let app = platform_with("create table t (id int)").await;
    let events = run(
        &app,
        json!({ "sql": "insert into t values (1);\nselect * from t -- all\n" }),
    )
    .await;
    assert_eq!(
        kinds(&events),
        ["start", "complete", "columns", "rows", "complete", "end"]
    );
    assert!(events[0]["query_id"].is_string() && events[0]["pid"].is_i64());
    assert_eq!(events[2]["columns"][0]["name"], "id");
    assert_eq!(events[2]["columns"][0]["oid"], 23);
    assert!(events[2]["columns"][0]["table"].is_i64());
    assert_eq!(events[3]["rows"], json!([["1"]]));
    assert_eq!(events[5]["state"], "completed");
    assert_eq!(events[5]["kept"], 2);

    let events = run(
        &app,
        json!({ "sql": "insert into t values (2); select nothing" }),
    )
    .await;
    assert_eq!(kinds(&events), ["start", "complete", "error", "end"]);
    assert_eq!(events[2]["column"], 34);
    assert_eq!(events[3]["rolled_back"], true);
    assert_eq!(texts(&app, "select id::text from t").await, ["1"]);
    assert_eq!(audited(&app, "sql.run").await.len(), 2);
    assert_eq!(
        kinds(&run(&app, json!({ "sql": " -- nothing\n;" })).await),
        ["start", "end"]
    );
}

#[tokio::test]
async fn roles_and_read_only_apply_and_leave_no_trace() {
    let app = platform_with(
        "create table t (id int, owner text); alter table t enable row level security;
         create policy own on t using (owner = auth.jwt() ->> 'sub'); grant select on t to authenticated;
         insert into t values (1, 'ada'), (2, 'bob')",
    )
    .await;
    let ada = json!({ "role": "authenticated", "claims": { "sub": "ada" } });
    let sql = "select current_user, id from t";
    let events = run(&app, json!({ "sql": sql, "as": ada })).await;
    assert_eq!(events[2]["rows"], json!([["authenticated", "1"]]));
    let events = run(&app, json!({ "sql": sql })).await;
    assert_eq!(
        events[2]["rows"],
        json!([["postgres", "1"], ["postgres", "2"]])
    );
    let events = run(&app, json!({ "sql": "delete from t", "read_only": true })).await;
    assert_eq!(events[1]["sqlstate"], "25006");
    let reply = post(
        &app,
        "sql",
        json!({ "sql": "select 1", "as": { "role": "nobody" } }),
    )
    .await;
    reply.expect_status(400);
}

#[tokio::test]
async fn settings_of_shared_roles_are_changed_for_this_project() {
    let app = platform_with("select 1").await;
    let sql = "alter role anon set statement_timeout = '7s'";
    let events = run(&app, json!({ "sql": sql })).await;
    assert_eq!(
        events.last().expect("an end")["state"],
        "completed",
        "{events:?}"
    );
    let found = texts(
        &app,
        "select value from plinth_roles.settings where role = 'anon' and name = 'statement_timeout'",
    );
    assert_eq!(found.await, ["7s"]);
}

#[tokio::test]
async fn limits_hold() {
    let app = platform_with("select 1").await;
    let body = json!({ "sql": "select generate_series(1, 100000000)", "row_limit": 2 });
    let events = run(&app, body).await;
    assert_eq!(events[2]["rows"], json!([["1"], ["2"]]));
    assert_eq!(events[3]["limited"], true);
    let events = run(
        &app,
        json!({ "sql": "select repeat('x', 100)", "max_cell_bytes": 3 }),
    )
    .await;
    assert_eq!(events[2]["rows"], json!([["xxx"]]));
    assert_eq!(events[2]["truncated"], json!([[0, 0, 100]]));
    let events = run(
        &app,
        json!({ "sql": "select pg_sleep(600)", "timeout_ms": 50 }),
    )
    .await;
    assert_eq!(events.last().expect("an end")["state"], "timed_out");
    for body in [
        json!({ "sql": "select 1", "timeout_ms": 0 }),
        json!({ "sql": "select 1", "max_cell_bytes": 0 }),
        json!({ "sql": "\\d" }),
        json!({}),
    ] {
        post(&app, "sql", body).await.expect_status(400);
    }
    let script = format!("select length('{}')", "x".repeat(10 * 1024 * 1024));
    let events = run(&app, json!({ "sql": script })).await;
    assert_eq!(events[2]["rows"], json!([["10485760"]]));
    let script = "x".repeat(13 * 1024 * 1024);
    post(&app, "sql", json!({ "sql": script }))
        .await
        .expect_status(413);
}

#[tokio::test]
async fn a_transaction_stays_open_between_requests() {
    let app = platform_with("create table t (id int)").await;
    let events = run(
        &app,
        json!({ "sql": "insert into t values (1)", "transaction": "open" }),
    )
    .await;
    let session = events.last().expect("an end")["session"].clone();
    assert!(session.is_string(), "{events:?}");
    assert!(texts(&app, "select id::text from t").await.is_empty());

    let events = run(
        &app,
        json!({ "sql": "select id from t", "session": session }),
    )
    .await;
    assert_eq!(events[2]["rows"], json!([["1"]]));
    // Each run has an id of its own.
    let other = post(
        &app,
        "sql",
        json!({ "sql": "select 1", "session": session }),
    )
    .await;
    other.expect_status(404);
    let session = events.last().expect("an end")["session"].clone();
    let events = run(&app, json!({ "sql": "commit", "session": session })).await;
    assert_eq!(events.last().expect("an end")["session"], json!(null));
    assert_eq!(texts(&app, "select id::text from t").await, ["1"]);
}

/// The body of a request that goes on.
async fn begin(app: &TestPlatform, sql: &str) -> (axum::body::BodyDataStream, Value) {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path("sql"))
        .header("content-type", "application/json")
        .extension(ControlSocket)
        .body(Body::from(json!({ "sql": sql }).to_string()));
    let routes = api::routes(app.platform.clone());
    let response = routes
        .oneshot(request.expect("a request"))
        .await
        .expect("infallible");
    let mut body = response.into_body().into_data_stream();
    let first = body.next().await.expect("a line").expect("a line");
    (body, serde_json::from_slice(&first).expect("JSON"))
}

async fn is_running(app: &TestPlatform, pid: &Value) -> bool {
    let sql =
        format!("select pid::text from pg_stat_activity where pid = {pid} and state = 'active'");
    !admin_texts(app, &sql).await.is_empty()
}

#[tokio::test]
async fn a_run_is_cancelled_and_then_terminated() {
    let app = platform_with("select 1").await;
    let (body, start) = begin(&app, "select pg_sleep(600)").await;
    let target = path(&format!(
        "sql/{}",
        start["query_id"].as_str().expect("an id")
    ));
    until(async || is_running(&app, &start["pid"]).await).await;
    app.request(Method::DELETE, &target, None)
        .await
        .expect_status(204);
    let rest: Vec<_> = body.collect().await;
    let last = rest.last().expect("an end").as_ref().expect("a line");
    let last: Value = serde_json::from_slice(last).expect("JSON");
    assert_eq!(
        (&last["type"], &last["state"]),
        (&json!("end"), &json!("cancelled"))
    );
    app.request(Method::DELETE, &target, None)
        .await
        .expect_status(404);

    // A statement that does not care.
    let deaf = "do $$ begin loop begin perform pg_sleep(600); exception when query_canceled then null; end; end loop; end $$";
    let (body, start) = begin(&app, deaf).await;
    let target = path(&format!(
        "sql/{}",
        start["query_id"].as_str().expect("an id")
    ));
    until(async || is_running(&app, &start["pid"]).await).await;
    app.request(Method::DELETE, &target, None)
        .await
        .expect_status(204);
    app.request(Method::DELETE, &target, None)
        .await
        .expect_status(204);
    let rest: Vec<_> = body.collect().await;
    assert!(!rest.is_empty());
    until(async || !is_running(&app, &start["pid"]).await).await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_run() {
    let app = platform_with("select 1").await;
    for sql in [
        "select pg_sleep(600)",
        "select generate_series(1, 1000000000)",
    ] {
        let (body, start) = begin(&app, sql).await;
        until(async || is_running(&app, &start["pid"]).await).await;
        drop(body);
        until(async || !is_running(&app, &start["pid"]).await).await;
    }
    // Nothing keeps the database from being locked.
    let project = app.open(&ProjectName::Default).await;
    until(async || {
        project
            .db
            .lock(std::time::Duration::from_secs(1))
            .await
            .is_ok()
    })
    .await;
}

#[tokio::test]
async fn plans_are_json() {
    let app = platform_with("create table t (id int)").await;
    let body = json!({ "sql": "insert into t values (1)", "analyze": true });
    let answer = post(&app, "sql/explain", body).await.ok();
    assert_eq!(answer["plan"][0]["Plan"]["Node Type"], "ModifyTable");
    assert!(texts(&app, "select id::text from t").await.is_empty());
    let answer = post(&app, "sql/explain", json!({ "sql": "select nothing" })).await;
    let answer = answer.expect_status(422).json();
    assert_eq!(answer["details"]["position"], 8);
    for sql in ["select 1; select 2", "", "begin"] {
        let status = post(&app, "sql/explain", json!({ "sql": sql }))
            .await
            .status
            .as_u16();
        assert!([400, 422].contains(&status), "{sql}: {status}");
    }
}
