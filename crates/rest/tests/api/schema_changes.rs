//! Schema changes while the service runs (rest contract §5.2).

use futures_util::future::join_all;
use plinth_db::PoolConfig;
use serde_json::json;

use crate::support::{
    Database, RecordedMetrics, Requests, RestCall, RestReply, Sql, TestApi, until,
};

const NO_TRIGGERS: &str =
    "drop event trigger plinth_schema_change; drop event trigger plinth_drop;";

/// Vector 37, without NOTIFY: the event trigger sends it.
#[tokio::test]
async fn a_new_table_is_announced_by_the_database() {
    let api = TestApi::own_chat().await;
    api.get("/brand_new")
        .await
        .expect_error_code(404, "PGRST205");

    api.db
        .execute("create table brand_new (id int); grant select on brand_new to anon")
        .await;
    api.wait_for_schema("brand_new").await;

    api.get("/brand_new").await.expect_json(200, json!([]));
    api.db.execute("drop table brand_new").await;
    until(async || api.get("/brand_new").await.json()["code"] == "PGRST205").await;
}

#[tokio::test]
async fn without_triggers_a_notification_does() {
    let db = Database::fresh().await;
    db.execute(NO_TRIGGERS).await;
    let api = TestApi::standalone(db, &[("db-schemas", "public")]).await;
    api.get("/brand_new")
        .await
        .expect_error_code(404, "PGRST205");

    api.db
        .execute("create table brand_new (id int); notify pgrst")
        .await;
    api.wait_for_schema("brand_new").await;

    api.get("/brand_new").await.expect_json(200, json!([]));
}

#[tokio::test]
async fn with_neither_the_first_miss_makes_the_service_look() {
    let db = Database::fresh().await;
    db.execute(NO_TRIGGERS).await;
    let settings = [("db-schemas", "public"), ("db-channel-enabled", "false")];
    let api = TestApi::standalone(db, &settings).await;
    assert_eq!(api.get("/users").await.status, 200);

    api.db
        .execute(
            "create table brand_new (id int, user_name text references users); \
             create function brand_new_function() returns int language sql as 'select 7'; \
             alter table channels add column topic text",
        )
        .await;

    until(async || api.get("/brand_new").await.status == 200).await;
    api.get("/rpc/brand_new_function")
        .await
        .expect_json(200, json!(7));
    let embedded = api.get("/brand_new?select=users(*)").await;
    embedded.expect_json(200, json!([]));
    let written = api
        .patch("/channels?id=eq.1", json!({ "topic": "new" }))
        .await;
    assert_eq!(written.status, 204, "{written:#?}");
}

#[tokio::test]
async fn a_missing_name_is_found_once_it_exists() {
    let db = Database::fresh().await;
    db.execute(NO_TRIGGERS).await;
    let settings = [("db-schemas", "public"), ("db-channel-enabled", "false")];
    let api = TestApi::standalone(db, &settings).await;
    api.get("/brand_new")
        .await
        .expect_error_code(404, "PGRST205");

    api.db.execute("create table brand_new (id int)").await;

    api.get("/brand_new").await.expect_json(200, json!([]));
}

#[tokio::test]
async fn a_new_column_is_read_at_once_and_written_once_known() {
    let api = TestApi::own_chat().await;
    assert_eq!(api.get("/channels").await.status, 200);

    api.db
        .execute("alter table channels add column topic text default 'none'")
        .await;
    let read = api.get("/channels?id=eq.1&select=topic").await;
    api.wait_for_schema("topic").await;
    let written = api
        .patch("/channels?id=eq.1&select=topic", json!({ "topic": "cats" }))
        .prefer("return=representation")
        .await;

    read.expect_json(200, json!([{ "topic": "none" }]));
    written.expect_json(200, json!([{ "topic": "cats" }]));
}

#[tokio::test]
async fn a_replaced_function_is_called_anew() {
    let api = TestApi::own_chat().await;
    let call = || api.post("/rpc/get_status", json!({ "name_param": "bob" }));
    call().await.expect_json(200, json!("OFFLINE"));

    api.db
        .execute(
            "create or replace function get_status(name_param text) returns user_status \
             language sql as $$ select 'ONLINE'::user_status $$",
        )
        .await;
    call().await.expect_json(200, json!("ONLINE"));

    api.db
        .execute(
            "drop function get_status; \
             create function get_status(name_param text, shout bool default true) \
             returns table (told text) language sql as $$ select 'hey ' || name_param $$",
        )
        .await;
    api.wait_for_schema("shout").await;
    call()
        .await
        .expect_json(200, json!([{ "told": "hey bob" }]));
}

#[tokio::test]
async fn statements_prepared_before_a_change_do_no_harm() {
    let pool = PoolConfig {
        size: 2,
        ..PoolConfig::default()
    };
    let settings = [("db-schemas", "library")];
    let api = TestApi::pooled(Database::fresh().await, &settings, pool).await;
    let read = || api.get("/numbers?n=eq.5");
    let write = || {
        api.patch("/numbers?n=eq.5", json!({ "even": true }))
            .prefer("return=representation")
    };
    for _ in 0..8 {
        assert_eq!(read().await.status, 200);
        assert_eq!(write().await.status, 200);
    }

    api.db
        .execute("alter table library.numbers alter column n type text, add column more int")
        .await;
    for _ in 0..20 {
        for reply in [read().await, write().await] {
            assert_eq!(reply.status, 200, "{reply:#?}");
        }
    }

    api.wait_for_schema("more").await;
    api.reload().await;
    for _ in 0..4 {
        let row = json!([{ "n": "5", "even": true, "more": null }]);
        read().await.expect_json(200, row.clone());
        write().await.expect_json(200, row);
    }
}

#[tokio::test]
async fn a_reload_that_fails_changes_nothing() {
    let api = TestApi::own_library().await;
    api.get("/books?select=id&id=eq.1")
        .await
        .expect_json(200, json!([{ "id": 1 }]));

    api.db.allow_connections(false).await;
    api.reload().await;

    api.get("/books?select=id&id=eq.1")
        .await
        .expect_json(200, json!([{ "id": 1 }]));
    api.get("/nowhere").await.expect_error_code(404, "PGRST205");
}

#[tokio::test]
async fn bad_settings_in_the_database_keep_the_old_ones() {
    let api = TestApi::own_library().await;
    assert_eq!(api.get("/books").await.status, 200);

    let sql = "alter role rest_login in database DATABASE set pgrst.db_schemas = 'pg_catalog'";
    api.db.execute(sql).await;
    api.reload().await;

    assert_eq!(api.get("/books").await.status, 200);
}

#[tokio::test]
async fn other_settings_are_taken_with_a_reload() {
    let api = TestApi::library().await;
    api.get("/books?select=id")
        .await
        .expect_header("content-range", "0-3/*");

    api.reconfigure(&[("db-schemas", "library"), ("db-max-rows", "1")])
        .await;

    api.get("/books?select=id")
        .await
        .expect_header("content-range", "0-0/*");
}

#[tokio::test]
async fn all_who_ask_for_new_tables_at_once_get_them() {
    let db = Database::fresh().await;
    db.execute(NO_TRIGGERS).await;
    let settings = [("db-schemas", "public"), ("db-channel-enabled", "false")];
    let api = TestApi::standalone(db, &settings).await;
    assert_eq!(api.get("/users").await.status, 200);

    api.db
        .execute("create table first_new (id int); create table second_new (id int)")
        .await;
    let paths = ["/first_new", "/second_new", "/no_such"].repeat(5);
    let replies = join_all(paths.iter().map(|path| api.get(path).into_future())).await;

    for (path, reply) in paths.iter().zip(replies) {
        match *path {
            "/no_such" => reply.expect_error_code(404, "PGRST205"),
            _ => reply.expect_json(200, json!([])),
        };
    }
}

#[tokio::test]
async fn wrong_requests_cannot_keep_the_service_busy_with_loading() {
    let recorded = RecordedMetrics::of_thread();
    let loads = || recorded.value("pgrst_schema_cache_loads_total", &[r#"status="SUCCESS""#]);
    let api = TestApi::own_chat().await;
    assert_eq!(api.get("/users").await.status, 200);
    let before = loads();

    for _ in 0..3 {
        let calls = (0..20).map(|_| {
            [
                api.get("/rpc/get_status?wrong=1"),
                api.get("/users?select=nothing(*)"),
            ]
        });
        join_all(calls.flatten().map(IntoFuture::into_future)).await;
    }

    // At most one for the first miss and one for the listener's first connection.
    let loads = loads() - before;
    assert!(loads <= 3.0, "{loads} loads for 120 requests");
}

#[tokio::test]
async fn changes_without_a_listener_are_loaded_with_the_next_connection() {
    let api = TestApi::own_chat().await;
    assert_eq!(api.get("/users").await.status, 200);
    let admin = api.db.admin().await;

    api.db.allow_connections(false).await;
    api.db.terminate_connections().await;
    let created = admin.batch_execute("create table created_meanwhile (id int)");
    created.await.expect("created");
    api.db.allow_connections(true).await;

    api.wait_for_schema("created_meanwhile").await;
    api.get("/created_meanwhile")
        .await
        .expect_json(200, json!([]));
}

#[tokio::test]
async fn bad_settings_in_the_database_serve_nothing_when_there_are_no_old_ones() {
    let db = Database::fresh().await;
    db.execute(
        "alter role rest_login in database DATABASE set pgrst.db_schemas = 'pg_catalog'; \
         alter role rest_login in database DATABASE set pgrst.db_pre_request = 'nobody_passes'",
    )
    .await;
    let api = TestApi::standalone(db, &[("db-schemas", "library")]).await;

    api.get("/books").await.expect_error_code(503, "PGRST002");

    api.db
        .execute(
            "alter role rest_login in database DATABASE reset pgrst.db_schemas; \
             alter role rest_login in database DATABASE reset pgrst.db_pre_request",
        )
        .await;
    api.reload().await;
    assert_eq!(api.get("/books").await.status, 200);
}
