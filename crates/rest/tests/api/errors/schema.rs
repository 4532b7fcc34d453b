//! Requests that do not fit the schema (§7.3, §5.4).

use serde_json::{Value, json};

use crate::support::{Database, Requests, RestCall, RestReply, Sql, TestApi};

#[tokio::test]
async fn filters_and_orders_must_aim_at_an_embed() {
    let api = TestApi::library().await;
    let message = "'authors' is not an embedded resource in this request";
    let hint = json!("Verify that 'authors' is included in the 'select' query parameter.");

    for query in [
        "authors.id=eq.1",
        "authors.order=id",
        "order=authors(name)",
        "authors.limit=1",
    ] {
        let reply = api.get(&format!("/books?select=id&{query}")).await;
        reply.expect_error_with(400, "PGRST108", message, Value::Null, hint.clone());
    }
}

#[tokio::test]
async fn the_name_of_an_aliased_embed_is_deprecated() {
    let path = "/books?select=id,by:authors(name)&authors.id=eq.1&id=eq.1";
    let today = TestApi::library().await;
    let settings = [
        ("db-schemas", "library"),
        ("url-use-legacy-target-names", "false"),
    ];
    let tomorrow = TestApi::standalone(Database::shared().await, &settings).await;

    let warned = today.get(path).await;
    let rejected = tomorrow.get(path).await;

    warned.expect_json(200, json!([{ "id": 1, "by": { "name": "Ada" } }]));
    let warning = warned.header("warning").expect("a warning");
    assert!(warning.starts_with("299 PostgRESTv16.2 \"Embedded resource was referenced by"));
    assert!(
        warning.contains("Update `authors` to `by` in query string"),
        "{warning}"
    );
    rejected.expect_error_with(
        400,
        "PGRST108",
        "'authors' is not an embedded resource in this request",
        json!("Target names are not allowed in filters if they have an alias"),
        json!("Change 'authors' to 'by' in filters, orders or limits."),
    );
}

#[tokio::test]
async fn parents_are_not_ordered_by_many_children() {
    let api = TestApi::library().await;

    let reply = api
        .get("/authors?select=id,books(title)&order=books(title)")
        .await;

    let message = "A related order on 'books' is not possible";
    let details = "'authors' and 'books' do not form a many-to-one or one-to-one relationship";
    reply.expect_error_with(400, "PGRST118", message, json!(details), Value::Null);
}

#[tokio::test]
async fn aggregates_are_rejected_unless_enabled() {
    let off = TestApi::library().await;
    let settings = [("db-schemas", "library"), ("db-aggregates-enabled", "true")];
    let on = TestApi::standalone(Database::shared().await, &settings).await;

    let rejected = off.get("/books?select=price.sum()").await;
    let nested = off.get("/authors?select=books(price.sum())").await;
    let summed = on
        .get("/books?select=genre,price.sum(),count()&order=genre")
        .await;
    let spread = on.get("/authors?select=name,...books(price.sum())").await;

    let message = "Use of aggregate functions is not allowed";
    rejected.expect_error(400, "PGRST123", message);
    nested.expect_error(400, "PGRST123", message);
    summed.expect_json(
        200,
        json!([
            { "genre": "novel", "sum": 7.00, "count": 2 },
            { "genre": "poem", "sum": 3.50, "count": 1 },
            { "genre": "essay", "sum": 10.10, "count": 1 },
        ]),
    );
    let details = "Aggregates are not implemented for one-to-many or many-to-many spreads.";
    let message = "Feature not implemented";
    spread.expect_error_with(400, "PGRST127", message, json!(details), Value::Null);
}

#[tokio::test]
async fn unknown_relationships_get_a_hint_at_the_next_best() {
    let api = TestApi::library().await;

    let reply = api.get("/books?select=author(*)").await;

    let message = "Could not find a relationship between 'books' and 'author' in the schema cache";
    let details = "Searched for a foreign key relationship between 'books' and 'author' \
                   in the schema 'library', but no matches were found.";
    let hint = "Perhaps you meant 'authors' instead of 'author'.";
    reply.expect_error_with(400, "PGRST200", message, json!(details), json!(hint));
}

#[tokio::test]
async fn unknown_functions_are_reported_with_their_arguments() {
    let api = TestApi::library().await;

    let by_name = api.post("/rpc/ad", json!({ "a": 1 })).await;
    let by_argument = api.post("/rpc/add", json!({ "c": 1, "a": 1 })).await;
    let by_get = api.get("/rpc/nowhere_at_all").await;
    let by_text = api
        .call(http::Method::POST, "/rpc/add")
        .body("text/plain", "x")
        .await;

    let message = "Could not find the function library.ad(a) in the schema cache";
    let details = "Searched for the function library.ad with parameter a or with a single unnamed \
                   json/jsonb parameter, but no matches were found in the schema cache.";
    by_name.expect_error_code(404, "PGRST202");
    assert_eq!(
        (&by_name.json()["message"], &by_name.json()["details"]),
        (&json!(message), &json!(details))
    );

    let message = "Could not find the function library.add(a, c) in the schema cache";
    let details = "Searched for the function library.add with parameters a, c or with a single \
                   unnamed json/jsonb parameter, but no matches were found in the schema cache.";
    let hint = "Perhaps you meant to call the function library.add(a, b)";
    by_argument.expect_error_with(404, "PGRST202", message, json!(details), json!(hint));

    let message =
        "Could not find the function library.nowhere_at_all without parameters in the schema cache";
    let details = "Searched for the function library.nowhere_at_all without parameters, but no \
                   matches were found in the schema cache.";
    by_get.expect_error_with(404, "PGRST202", message, json!(details), Value::Null);

    let message = "Could not find the function library.add in the schema cache";
    let details = "Searched for the function library.add with a single unnamed text parameter, but \
                   no matches were found in the schema cache.";
    by_text.expect_error_with(404, "PGRST202", message, json!(details), Value::Null);
}

#[tokio::test]
async fn overloads_that_differ_only_in_types_are_ambiguous() {
    let api = TestApi::library().await;

    let by_type = api.get("/rpc/clash?a=1").await;
    let unnamed = api.post("/rpc/whole", json!({ "x": 1 })).await;

    let hint = json!(
        "Try renaming the parameters or the function itself in the database so function \
         overloading can be resolved"
    );
    let start = "Could not choose the best candidate function between: ";
    let message = format!("{start}library.clash(a => integer), library.clash(a => text)");
    by_type.expect_error_with(300, "PGRST203", &message, Value::Null, hint.clone());
    let message = format!("{start}library.whole( => json), library.whole( => jsonb)");
    unnamed.expect_error_with(300, "PGRST203", &message, Value::Null, hint);
}

#[tokio::test]
async fn unknown_columns_of_a_body_are_named() {
    let api = TestApi::library().await;
    let message = "Could not find the 'colour' column of 'books' in the schema cache";

    let inserted = api.post("/books", json!({ "colour": 1 })).await;
    let updated = api.patch("/books?id=eq.1", json!({ "colour": 1 })).await;
    let listed = api.post("/books?columns=colour", json!({})).await;

    for reply in [inserted, updated, listed] {
        reply.expect_error(400, "PGRST204", message);
    }
}

#[tokio::test]
async fn a_change_needs_a_single_row_where_one_is_asked_for() {
    let api = TestApi::own_library().await;
    let single = "application/vnd.pgrst.object+json";
    let message = "Cannot coerce the result to a single JSON object";

    let calls = [
        (api.patch("/authors?id=lt.3", json!({ "born": 9 })), 2),
        (api.delete("/loans?id=lt.9"), 3),
        (
            api.post("/with_defaults", json!([{ "c": "x" }, { "c": "y" }])),
            2,
        ),
        (api.post("/rpc/add_default", json!({ "value": "x" })), 2),
        (api.get("/authors?id=gt.99"), 0),
    ];

    for (call, rows) in calls {
        let reply = call.accept(single).await;
        let details = json!(format!("The result contains {rows} rows"));
        reply.expect_error_with(406, "PGRST116", message, details, Value::Null);
    }
    let left = "select (select count(*) from library.authors where born = 9) \
                + (select count(*) from library.with_defaults) \
                + (select 3 - count(*) from library.loans)";
    assert_eq!(api.db.count(left).await, 0, "all of it was undone");
}
