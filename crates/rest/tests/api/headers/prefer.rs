//! `Prefer` and `Preference-Applied` (§3.1, §3.2).

use serde_json::json;

use crate::support::{Database, Requests, RestCall, RestReply, Sql, TestApi};

#[tokio::test]
async fn applied_preferences_come_in_a_fixed_order() {
    let settings = [
        ("db-schemas", "library"),
        ("db-tx-end", "commit-allow-override"),
    ];
    let api = TestApi::standalone(Database::fresh().await, &settings).await;
    let all = "max-affected=9, timezone=UTC, handling=strict, tx=commit, count=exact";

    let inserted = api
        .post("/with_defaults", json!({ "c": "x" }))
        .prefer(all)
        .prefer("return=minimal, missing=default, resolution=merge-duplicates")
        .await;
    let updated = api
        .patch("/with_defaults?id=eq.1", json!({ "c": "y" }))
        .prefer(all)
        .prefer("return=minimal, missing=null, resolution=merge-duplicates")
        .await;
    let read = api
        .get("/with_defaults")
        .prefer(all)
        .prefer("return=minimal")
        .await;

    let tail = "count=exact, tx=commit, handling=strict, timezone=UTC";
    let made = "resolution=merge-duplicates, missing=default, return=minimal";
    inserted.expect_header("preference-applied", &format!("{made}, {tail}"));
    let applied = format!("missing=null, return=minimal, {tail}, max-affected=9");
    updated.expect_header("preference-applied", &applied);
    read.expect_header("preference-applied", tail);
}

#[tokio::test]
async fn the_first_valid_word_of_a_family_counts() {
    let api = TestApi::library().await;

    let twice = api
        .get("/books?limit=1")
        .prefer("count=exact, count=planned")
        .await;
    let spelt = api.get("/books?limit=1").prefer("Count=exact").await;
    let unknown = api
        .get("/books?limit=1")
        .prefer("count=some, count=exact")
        .await;

    twice
        .expect_header("content-range", "0-0/4")
        .expect_header("preference-applied", "count=exact");
    spelt
        .expect_header("content-range", "0-0/*")
        .expect_no_header("preference-applied");
    unknown.expect_header("content-range", "0-0/4");
}

#[tokio::test]
async fn a_resolution_without_a_key_is_a_plain_insert() {
    let api = TestApi::own_library().await;

    let reply = api
        .post("/visits", json!({ "day": "2024-01-01", "visitor": "x" }))
        .prefer("resolution=merge-duplicates, return=minimal")
        .await;

    reply.expect_header("preference-applied", "return=minimal");
    assert_eq!(reply.status, 201);
}

#[tokio::test]
async fn a_transaction_end_that_may_not_be_chosen_is_ignored() {
    let api = TestApi::own_library().await;

    let reply = api
        .post("/with_defaults", json!({ "c": "kept" }))
        .prefer("tx=rollback, handling=strict")
        .await;

    assert_eq!(reply.status, 201, "never invalid: {reply:#?}");
    reply.expect_header("preference-applied", "handling=strict");
    assert_eq!(
        api.db
            .count("select count(*) from library.with_defaults")
            .await,
        1
    );
}

#[tokio::test]
async fn times_are_in_the_requested_time_zone() {
    let api = TestApi::library().await;
    let path = "/kinds?select=instant";

    let named = api.get(path).prefer("timezone=America/Los_Angeles").await;
    let offset = api.get(path).prefer("timezone=-5").await;
    let bad = api.get(path).prefer("timezone=Nowhere/Land").await;

    named.expect_json(200, json!([{ "instant": "2024-01-01T19:04:05-08:00" }]));
    named.expect_header("preference-applied", "timezone=America/Los_Angeles");
    offset.expect_json(200, json!([{ "instant": "2024-01-01T22:04:05-05:00" }]));
    bad.expect_error_code(400, "22023");
}

#[tokio::test]
async fn a_call_may_not_affect_more_than_allowed() {
    let api = TestApi::own_library().await;
    let call = |most: i64| {
        api.post("/rpc/add_default", json!({ "value": "x" }))
            .prefer(&format!("handling=strict, max-affected={most}"))
    };

    let rejected = call(1).await;
    let allowed = call(2).await;

    rejected.expect_error_code(400, "PGRST124");
    assert_eq!(allowed.status, 200);
    allowed.expect_header("preference-applied", "handling=strict, max-affected=2");
    assert_eq!(
        api.db
            .count("select count(*) from library.with_defaults")
            .await,
        2
    );
}
