//! Errors of Postgres by their SQLSTATE (§7.4).

use serde_json::{Value, json};

use crate::support::{Reply, Requests, RestCall, RestReply, Sql, TestApi};

async fn raise(api: &TestApi, role: &str, state: &str, message: &str) -> Reply {
    api.post(
        "/rpc/raise_error",
        json!({ "state": state, "message": message }),
    )
    .role(role)
    .await
}

#[tokio::test]
async fn every_class_has_its_status() {
    let api = TestApi::library().await;
    let cases = [
        ("09000", 500),
        ("0L000", 403),
        ("0P000", 403),
        ("21000", 500),
        ("22023", 400),
        ("22012", 400),
        ("22P02", 400),
        ("23502", 400),
        ("23503", 409),
        ("23505", 409),
        ("23514", 400),
        ("25000", 500),
        ("25006", 405),
        ("28000", 403),
        ("2D000", 500),
        ("38000", 500),
        ("39000", 500),
        ("3B000", 500),
        ("40001", 500),
        ("40P01", 500),
        ("42501", 403),
        ("42601", 400),
        ("42703", 400),
        ("42704", 400),
        ("42883", 404),
        ("42P01", 404),
        ("42P10", 400),
        ("42P17", 500),
        ("53000", 503),
        ("53300", 503),
        ("53400", 500),
        ("54000", 500),
        ("55000", 500),
        ("57014", 500),
        ("58000", 500),
        ("F0000", 500),
        ("HV000", 500),
        ("P0001", 400),
        ("P0002", 500),
        ("XX000", 500),
        ("PT402", 402),
        ("PT404", 404),
        ("PT503", 503),
        ("PT40X", 500),
        ("ZZ999", 400),
    ];

    for (state, status) in cases {
        let reply = raise(&api, "authenticated", state, "raised").await;

        reply.expect_error_with(status, state, "raised", json!(""), json!(""));
        match status {
            503 => reply.expect_header("retry-after", "1"),
            _ => reply.expect_no_header("retry-after"),
        };
    }
}

#[tokio::test]
async fn what_sounds_like_a_lost_connection_can_be_retried() {
    let api = TestApi::library().await;

    for state in ["08000", "08P01", "57P01"] {
        let reply = raise(&api, "authenticated", state, "raised").await;

        reply
            .expect_error_with(503, state, "raised", json!(""), json!(""))
            .expect_header("retry-after", "1");
    }
    for state in ["57P02", "57P03"] {
        let reply = raise(&api, "authenticated", state, "raised").await;
        reply.expect_error_with(500, state, "raised", json!(""), json!(""));
    }
}

#[tokio::test]
async fn some_messages_change_the_status() {
    let api = TestApi::library().await;
    let cases = [
        ("21000", "UPDATE requires a WHERE clause", 400),
        ("22023", "role \"x\" does not exist", 401),
        ("42883", "function xmlagg(text) does not exist", 406),
    ];

    for (state, message, status) in cases {
        let reply = raise(&api, "authenticated", state, message).await;
        reply.expect_error_with(status, state, message, json!(""), json!(""));
    }
}

#[tokio::test]
async fn a_lack_of_privileges_of_anonymous_callers_asks_for_a_token() {
    let api = TestApi::library().await;

    let anonymous = raise(&api, "anon", "42501", "no").await;
    let user = raise(&api, "authenticated", "42501", "no").await;

    anonymous
        .expect_error_code(401, "42501")
        .expect_header("www-authenticate", "Bearer");
    user.expect_error_code(403, "42501")
        .expect_no_header("www-authenticate");
}

#[tokio::test]
async fn details_and_hints_of_postgres_arrive_as_they_are() {
    let api = TestApi::own_library().await;

    let missing = api.post("/books", json!({ "price": 1 })).await;
    let foreign = api
        .post("/books", json!({ "title": "x", "author_id": 99 }))
        .await;
    let check = api
        .post("/books", json!({ "title": "x", "isbn": "abc" }))
        .await;
    let label = api.get("/books?genre=eq.song").await;
    let column = api.get("/books?select=colour").await;
    let operator = api.get("/books?id=like.1").await;
    let twice = api
        .post(
            "/with_defaults",
            json!([{ "id": 1, "c": "a" }, { "id": 1, "c": "b" }]),
        )
        .prefer("resolution=merge-duplicates")
        .await;
    let identity = api.post("/authors", json!({ "id": 9, "name": "x" })).await;
    let generated = api
        .post("/authors", json!({ "sort_name": "x", "name": "x" }))
        .await;
    let conflict = api
        .post("/with_defaults?on_conflict=c", json!({ "c": "a" }))
        .prefer("resolution=merge-duplicates")
        .await;

    missing.expect_error_code(400, "23502");
    foreign.expect_error_with(
        409,
        "23503",
        "insert or update on table \"books\" violates foreign key constraint \
         \"books_author_id_fkey\"",
        json!("Key (author_id)=(99) is not present in table \"authors\"."),
        Value::Null,
    );
    let message = "value for domain library.isbn violates check constraint \"isbn_check\"";
    check.expect_error_code(400, "23514");
    assert!(
        [
            message,
            "value for domain isbn violates check constraint \"isbn_check\""
        ]
        .contains(&check.json()["message"].as_str().expect("a message"))
    );
    label.expect_error_code(400, "22P02");
    column.expect_error(400, "42703", "column books.colour does not exist");
    operator.expect_error_code(404, "42883");
    twice.expect_error_code(500, "21000");
    identity.expect_error_code(400, "428C9");
    generated.expect_error_code(400, "428C9");
    conflict.expect_error_code(400, "42P10");
}

#[tokio::test]
async fn writing_while_reading_is_not_allowed() {
    let api = TestApi::own_library().await;

    let view = api.get("/bumping").await;
    let by_get = api.get("/rpc/add_one?value=x").await;
    let by_stable = api.post("/rpc/add_quietly", json!({ "value": "x" })).await;

    for reply in [view, by_get, by_stable] {
        reply.expect_error_code(405, "25006");
    }
    assert_eq!(
        api.db
            .count("select count(*) from library.with_defaults")
            .await,
        0
    );
}

#[tokio::test]
async fn deferred_constraints_are_checked_before_the_response() {
    let api = TestApi::own_library().await;

    let committed = api.patch("/deferred?id=eq.1", json!({ "rank": 2 })).await;
    let shown = api
        .patch("/deferred?id=eq.1", json!({ "rank": 2 }))
        .prefer("return=representation")
        .await;

    committed.expect_error_code(409, "23505");
    shown.expect_error_code(409, "23505");
}
