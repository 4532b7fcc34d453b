use serde_json::{Value, json};

use crate::support::{Database, JSON, Requests, RestCall, RestReply, Sql, TestApi};

/// Vector 19.
#[tokio::test]
async fn an_insert_without_preference_has_an_empty_response() {
    let api = TestApi::own_chat().await;
    let body = json!({ "message": "new", "username": "supabot", "channel_id": 1 });

    let reply = api.post("/messages", body).await;

    reply.expect_whole(
        201,
        &[("content-length", "0"), ("content-range", "*/*")],
        "",
    );
    let found = api.get("/messages?id=eq.100&select=message").await;
    found.expect_json(200, json!([{ "message": "new" }]));
}

/// Vector 20.
#[tokio::test]
async fn inserted_rows_are_returned_where_asked_for() {
    let api = TestApi::own_chat().await;
    let row = |text: &str| json!({ "message": text, "username": "supabot", "channel_id": 1 });

    let reply = api
        .post(
            "/messages?columns=\"message\",\"username\",\"channel_id\"&select=*",
            json!([row("one"), row("two")]),
        )
        .prefer("return=representation")
        .await;

    let returned = |id: i64, text: &str| json!({ "id": id, "data": null, "message": text, "username": "supabot", "channel_id": 1 });
    let headers = [
        ("content-type", JSON),
        ("content-range", "*/*"),
        ("preference-applied", "return=representation"),
    ];
    reply.expect_whole_json(
        201,
        &headers,
        json!([returned(100, "one"), returned(101, "two")]),
    );
}

/// Vector 21.
#[tokio::test]
async fn missing_keys_take_the_columns_default() {
    let api = TestApi::own_chat().await;

    let reply = api
        .post(
            "/channels?columns=\"id\",\"slug\"&select=id,slug",
            json!([{ "id": 100 }, { "slug": "x" }]),
        )
        .prefer("return=representation, missing=default")
        .await;

    let headers = [
        ("content-type", JSON),
        ("content-range", "*/*"),
        (
            "preference-applied",
            "missing=default, return=representation",
        ),
    ];
    // The default is evaluated for every row, so the first one has used a number.
    let rows = json!([{ "id": 100, "slug": null }, { "id": 201, "slug": "x" }]);
    reply.expect_whole_json(201, &headers, rows);
}

/// Vector 22.
#[tokio::test]
async fn an_upserts_status_shows_whether_rows_are_new() {
    let api = TestApi::own_chat().await;
    let row = |name: &str, status: &str| json!({ "username": name, "status": status });
    let send = async |resolution: &str, body: Value| {
        api.post("/users?select=username,status", body)
            .prefer("return=representation")
            .prefer(&format!("resolution={resolution}"))
            .await
    };

    let existing = send("merge-duplicates", json!([row("bob", "ONLINE")])).await;
    let mixed = json!([row("bob", "OFFLINE"), row("dora", "ONLINE")]);
    let mixed = send("merge-duplicates", mixed).await;
    let ignored = send("ignore-duplicates", json!([row("bob", "ONLINE")])).await;

    let headers = |applied| {
        [
            ("content-type", JSON),
            ("content-range", "*/*"),
            ("preference-applied", applied),
        ]
    };
    let merged = headers("resolution=merge-duplicates, return=representation");
    existing.expect_whole_json(200, &merged, json!([row("bob", "ONLINE")]));
    mixed.expect_whole_json(
        201,
        &merged,
        json!([row("bob", "OFFLINE"), row("dora", "ONLINE")]),
    );
    let skipped = headers("resolution=ignore-duplicates, return=representation");
    ignored.expect_whole(201, &skipped, "[]");
}

/// Vector 23.
#[tokio::test]
async fn a_duplicate_is_a_conflict_with_details() {
    let api = TestApi::own_chat().await;

    let reply = api.post("/users", json!({ "username": "bob" })).await;

    let message = "duplicate key value violates unique constraint \"users_pkey\"";
    let details = json!("Key (username)=(bob) already exists.");
    reply.expect_error_with(409, "23505", message, details, Value::Null);
}

/// Vector 24.
#[tokio::test]
async fn changing_no_row_is_no_failure() {
    let api = TestApi::own_chat().await;
    let body = json!({ "message": "x" });

    let minimal = api.patch("/messages?id=eq.-1", body.clone()).await;
    let shown = api
        .patch("/messages?id=eq.-1", body)
        .prefer("return=representation")
        .await;

    minimal
        .expect_whole(204, &[("content-range", "*/*")], "")
        .expect_no_header("content-length");
    let headers = [
        ("content-type", JSON),
        ("content-range", "*/*"),
        ("preference-applied", "return=representation"),
    ];
    shown.expect_whole(200, &headers, "[]");
}

/// Vector 25.
#[tokio::test]
async fn a_change_of_too_many_rows_is_undone() {
    let api = TestApi::own_chat().await;

    let reply = api
        .patch("/messages?id=in.(1,2,3)", json!({ "message": "x" }))
        .prefer("handling=strict, max-affected=1")
        .await;

    let message = "Query result exceeds max-affected preference constraint";
    let details = json!("The query affects 3 rows");
    reply.expect_error_with(400, "PGRST124", message, details, Value::Null);
    let changed = api
        .db
        .count("select count(*) from messages where message = 'x'")
        .await;
    assert_eq!(changed, 0);
}

/// Vector 26.
#[tokio::test]
async fn deleted_rows_are_shown_with_what_they_refer_to() {
    let api = TestApi::own_chat().await;

    let reply = api
        .delete("/messages?id=eq.1&select=id,message,users(username)")
        .prefer("return=representation, count=exact")
        .await;

    let headers = [
        ("content-type", JSON),
        ("content-range", "*/1"),
        ("preference-applied", "return=representation, count=exact"),
    ];
    let row = json!({ "id": 1, "message": "Hello World", "users": { "username": "supabot" } });
    reply.expect_whole_json(200, &headers, json!([row]));
    assert_eq!(
        api.db
            .count("select count(*) from messages where id = 1")
            .await,
        0
    );
}

/// Vector 36.
#[tokio::test]
async fn a_rollback_shows_what_would_have_been() {
    let settings = [
        ("db-schemas", "public"),
        ("db-tx-end", "commit-allow-override"),
    ];
    let api = TestApi::standalone(Database::fresh().await, &settings).await;

    let reply = api
        .post("/users?select=username", json!({ "username": "ghost" }))
        .prefer("return=representation, tx=rollback")
        .await;

    let headers = [
        ("content-type", JSON),
        ("content-range", "*/*"),
        ("preference-applied", "return=representation, tx=rollback"),
    ];
    reply.expect_whole_json(201, &headers, json!([{ "username": "ghost" }]));
    assert_eq!(
        api.db
            .count("select count(*) from users where username = 'ghost'")
            .await,
        0
    );
}

/// Vector 40.
#[tokio::test]
async fn deleting_or_changing_everything_needs_a_filter() {
    let api = TestApi::full(Database::fresh().await, &[]).await;

    let deleted = api.delete("/best_friends").await;
    let changed = api
        .patch("/best_friends", json!({ "third_wheel": null }))
        .await;
    let meant = api.delete("/best_friends?id=gt.0").await;

    deleted.expect_error(400, "21000", "DELETE requires a WHERE clause");
    changed.expect_error(400, "21000", "UPDATE requires a WHERE clause");
    meant.expect_whole(204, &[("content-range", "*/*")], "");
}

/// Only the full server has the guard.
#[tokio::test]
async fn a_service_alone_has_no_guard() {
    let api = TestApi::own_chat().await;

    let reply = api.delete("/best_friends").prefer("count=exact").await;

    let applied = ("preference-applied", "count=exact");
    reply.expect_whole(204, &[("content-range", "*/2"), applied], "");
}
