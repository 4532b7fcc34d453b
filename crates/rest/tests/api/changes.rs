//! Writing: bodies of every kind, keys, defaults, views and privileges.

use http::Method;
use serde_json::json;

use crate::support::{Requests, RestCall, RestReply, Sql, TestApi};

#[tokio::test]
async fn bodies_come_as_json_csv_or_form() {
    let api = TestApi::own_library().await;
    let post = |content_type: &str, body: &str| {
        api.call(Method::POST, "/with_defaults?select=a,b,c")
            .body(content_type, body)
            .prefer("return=representation")
    };

    let csv = post("text/csv", "a,b,c\n1,,x\n2,NULL,\"y, z\"").await;
    let form = post(
        "application/x-www-form-urlencoded",
        "a=3&c=one+two&c=three%21",
    )
    .await;
    let untyped = api
        .call(Method::POST, "/with_defaults?select=a,b,c")
        .with(|request| *request.body_mut() = "{\"a\":4}".into())
        .prefer("return=representation")
        .await;
    let charset = post("Application/JSON; charset=utf-8; junk", "{\"a\":5}").await;
    let scalar = post("application/json", "7").await;

    csv.expect_json(
        201,
        json!([{ "a": 1, "b": "", "c": "x" }, { "a": 2, "b": null, "c": "y, z" }]),
    );
    form.expect_json(201, json!([{ "a": 3, "b": "x", "c": "three!" }]));
    untyped.expect_json(201, json!([{ "a": 4, "b": "x", "c": null }]));
    charset.expect_json(201, json!([{ "a": 5, "b": "x", "c": null }]));
    scalar.expect_json(201, json!([]));
}

#[tokio::test]
async fn missing_keys_are_null_or_default() {
    let api = TestApi::own_library().await;
    let post = |prefer: &str| {
        let body = json!([{ "a": 1, "extra": 0 }, { "b": null, "c": "z" }]);
        api.post("/with_defaults?columns=b,a,b,c&select=a,b,c", body)
            .prefer(&format!("return=representation, {prefer}"))
    };

    let nulls = post("missing=null").await;
    let defaults = post("missing=default").await;
    let empty = api
        .post("/with_defaults?select=a,b,c", json!([{}, {}]))
        .prefer("return=representation")
        .await;

    let row = |a: Option<i64>, b: Option<&str>, c: Option<&str>| json!({ "a": a, "b": b, "c": c });
    nulls.expect_json(
        201,
        json!([row(Some(1), None, None), row(None, None, Some("z"))]),
    );
    defaults.expect_json(
        201,
        json!([row(Some(1), Some("x"), None), row(Some(5), None, Some("z"))]),
    );
    empty.expect_json(
        201,
        json!([row(Some(5), Some("x"), None), row(Some(5), Some("x"), None)]),
    );
}

#[tokio::test]
async fn values_are_decoded_by_the_type_of_their_column() {
    let api = TestApi::own_library().await;
    let row = json!({
        "title": "Typed", "genre": "poem", "price": 1.10, "tags": ["a", "b, c"],
        "pages": "[1,5)", "extra": { "k": [1, null] }, "author_id": "2",
    });

    let reply = api
        .post(
            "/books?select=title,genre,price,tags,pages,extra,author_id",
            row,
        )
        .prefer("return=representation")
        .accept("application/vnd.pgrst.object+json")
        .await;

    assert!(
        reply.text().contains("\"price\":1.10,"),
        "the scale survives: {reply:#?}"
    );
    reply.expect_json(
        201,
        json!({
            "title": "Typed", "genre": "poem", "price": 1.10, "tags": ["a", "b, c"],
            "pages": "[1,5)", "extra": { "k": [1, null] }, "author_id": 2,
        }),
    );
}

#[tokio::test]
async fn conflicts_are_found_by_key_or_by_named_columns() {
    let api = TestApi::own_library().await;
    let send = |path: &str, price: f64| {
        api.post(path, json!({ "title": "Nana", "price": price }))
            .prefer("return=representation, resolution=merge-duplicates")
    };

    let by_title = send("/books?on_conflict=title&select=id,price", 9.5).await;
    let by_key = send("/books?select=id", 1.0).await;
    let unknown = send("/books?on_conflict=colour", 1.0).await;

    by_title.expect_json(200, json!([{ "id": 3, "price": 9.5 }]));
    by_key.expect_error_code(409, "23505");
    unknown.expect_error_code(400, "42703");
}

#[tokio::test]
async fn empty_changes_change_nothing() {
    let api = TestApi::own_library().await;

    for body in [json!({}), json!([]), json!([{}])] {
        let reply = api.patch("/books?id=eq.1", body).await;
        reply.expect_whole(204, &[("content-range", "*/*")], "");
    }
}

#[tokio::test]
async fn views_take_what_their_tables_or_triggers_take() {
    let api = TestApi::own_library().await;

    let updated = api
        .patch("/novels?id=eq.3&select=price", json!({ "price": 2 }))
        .prefer("return=representation")
        .await;
    let out_of_view = api
        .patch("/novels?id=eq.3", json!({ "genre": "poem" }))
        .await;
    let by_trigger = api.post("/shelf", json!({ "id": 1, "note": "kept" })).await;
    let fixed = api.patch("/shelf?id=eq.1", json!({ "note": "x" })).await;
    let located = api
        .post("/novels", json!({ "title": "New", "genre": "novel" }))
        .prefer("return=headers-only")
        .await;

    updated.expect_json(200, json!([{ "price": 2.00 }]));
    out_of_view.expect_error_code(400, "44000");
    assert_eq!(by_trigger.status, 201);
    let kept = api
        .db
        .count("select count(*) from library.with_defaults where c = 'kept'")
        .await;
    assert_eq!(kept, 1);
    fixed.expect_error_code(500, "55000");
    located.expect_header("location", "/novels?id=eq.50");
}

#[tokio::test]
async fn only_what_is_shown_need_be_readable() {
    let api = TestApi::own_library().await;
    let row = json!({ "id": 5, "note": "x" });

    let minimal = api.post("/dropbox", row.clone()).await;
    let shown = api
        .post("/dropbox", row)
        .prefer("return=representation")
        .await;
    let part = api
        .post(
            "/ledger?select=visible",
            json!({ "id": 2, "visible": "v", "hidden": "h" }),
        )
        .prefer("return=representation")
        .await;
    let all = api.get("/ledger").await;
    let some = api.get("/ledger?select=id,visible").await;

    assert_eq!(minimal.status, 201);
    shown.expect_error_code(401, "42501");
    part.expect_json(201, json!([{ "visible": "v" }]));
    all.expect_error_code(401, "42501");
    assert_eq!(some.status, 200);
}

#[tokio::test]
async fn what_is_returned_is_what_was_changed() {
    let api = TestApi::own_library().await;

    let moved = api
        .patch(
            "/books?author_id=eq.2&select=id,author_id&order=id.desc",
            json!({ "author_id": 1 }),
        )
        .prefer("return=representation")
        .await;
    let embedded = api
        .post(
            "/books?select=title,authors(name),label",
            json!({ "title": "Z", "author_id": 2 }),
        )
        .prefer("return=representation")
        .await;
    let limited = api
        .patch("/numbers?n=lte.5&limit=1&select=n", json!({ "even": null }))
        .prefer("return=representation")
        .await;

    moved.expect_json(
        200,
        json!([{ "id": 3, "author_id": 1 }, { "id": 2, "author_id": 1 }]),
    );
    embedded.expect_json(
        201,
        json!([{ "title": "Z", "label": "Z #50", "authors": { "name": "Émile" } }]),
    );
    assert_eq!(
        limited.json().as_array().map(Vec::len),
        Some(5),
        "limits do not apply"
    );
}

#[tokio::test]
async fn root_filters_of_an_insert_are_ignored_and_partitions_are_reached() {
    let api = TestApi::own_library().await;

    let reply = api
        .post(
            "/visits?visitor=eq.nobody&select=visitor",
            json!({ "day": "2025-03-03", "visitor": "c" }),
        )
        .prefer("return=representation")
        .await;

    reply.expect_json(201, json!([{ "visitor": "c" }]));
    assert_eq!(
        api.db
            .count("select count(*) from library.visits_2025")
            .await,
        2
    );
}
