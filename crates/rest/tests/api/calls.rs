//! Calls of functions: all kinds of results, and all ways to pass arguments (§2.7).

use http::Method;
use serde_json::{Value, json};

use crate::support::{Database, Requests, RestCall, RestReply, TestApi};

#[tokio::test]
async fn every_shape_of_result_has_its_body() {
    let api = TestApi::library().await;
    let engines = json!({
        "id": 1, "author_id": 1, "title": "Engines", "genre": "essay", "isbn": "0001",
        "price": 10.10, "tags": ["math", "old, rare"], "pages": "[1,100)",
        "extra": { "shelf": { "row": 3, "names": ["x", "y"] } },
    });
    let unknown_user = json!({
        "id": null, "author_id": null, "title": null, "genre": null, "isbn": null,
        "price": null, "tags": null, "pages": null, "extra": null,
    });
    let cases = [
        ("add?a=1&b=2", json!(3)),
        ("no_number", Value::Null),
        ("no_text", json!("")),
        ("some_tags", json!(["a", "b c"])),
        ("a_genre", json!("poem")),
        ("names", json!(["Ada", "Émile", "Nobody"])),
        ("first_book", engines),
        ("missing_book", unknown_user),
        (
            "titles?limit=2",
            json!([{ "title": "Engines" }, { "title": "Germinal" }]),
        ),
        ("swap?a=1&b=2", json!({ "a": 2, "b": 1 })),
        ("one_out", json!({ "lonely": 7 })),
        ("untyped", json!({ "one": 1, "two": "x" })),
        ("all_books?id=gt.99", json!([])),
    ];

    for (call, body) in cases {
        let reply = api.get(&format!("/rpc/{call}")).await;
        reply.expect_json(200, body);
    }
    let json = api.get("/rpc/some_json").await;
    assert_eq!(
        json.text(),
        r#"{"b": 1, "a": 2,  "a": 3}"#,
        "as the function made it"
    );
}

#[tokio::test]
async fn rows_of_a_function_are_read_like_a_table() {
    let api = TestApi::library().await;
    let queries = [
        (
            "select=id&order=id.desc&limit=2",
            json!([{ "id": 4 }, { "id": 3 }]),
        ),
        (
            "select=title&genre=eq.novel&order=id&offset=1",
            json!([{ "title": "Nana" }]),
        ),
        (
            "select=title,authors(name)&id=eq.1",
            json!([{ "title": "Engines", "authors": { "name": "Ada" } }]),
        ),
        (
            "select=id&or=(id.eq.1,id.eq.4)&order=id",
            json!([{ "id": 1 }, { "id": 4 }]),
        ),
        ("select=label&id=eq.1", json!([{ "label": "Engines #1" }])),
    ];

    for (query, rows) in queries {
        api.get(&format!("/rpc/all_books?{query}"))
            .await
            .expect_json(200, rows.clone());
        api.post(&format!("/rpc/all_books?{query}"), json!({}))
            .await
            .expect_json(200, rows);
    }
    let counted = api
        .get("/rpc/all_books?limit=1&select=id")
        .prefer("count=exact")
        .await;
    assert_eq!(counted.status, 206);
    counted.expect_header("content-range", "0-0/4");
    let single = api
        .get("/rpc/all_books?id=eq.1&select=id")
        .accept("application/vnd.pgrst.object+json")
        .await;
    single.expect_json(200, json!({ "id": 1 }));
}

#[tokio::test]
async fn arguments_come_from_query_json_form_or_csv() {
    let api = TestApi::library().await;
    let post = |content_type: &str, body: &str| {
        api.call(Method::POST, "/rpc/add").body(content_type, body)
    };

    api.get("/rpc/add?a=1&a=2")
        .await
        .expect_json(200, json!(12));
    api.post("/rpc/add", json!({ "a": 1, "b": null }))
        .await
        .expect_json(200, Value::Null);
    api.post("/rpc/add", json!([{ "a": 1 }, { "a": 5 }]))
        .await
        .expect_json(200, json!(11));
    post("application/x-www-form-urlencoded", "a=3&b=4")
        .await
        .expect_json(200, json!(7));
    post("text/csv", "a,b\n5,6")
        .await
        .expect_json(200, json!(11));
    let chosen = api
        .post("/rpc/add?columns=a", json!({ "a": 1, "c": 1 }))
        .await;
    chosen.expect_json(200, json!(11));
    api.call(Method::POST, "/rpc/names")
        .await
        .expect_json(200, json!(["Ada", "Émile", "Nobody"]));
    api.get("/rpc/letters?c=abc&b=101")
        .await
        .expect_json(200, json!("abc101"));
}

#[tokio::test]
async fn variadic_arguments_are_collected() {
    let api = TestApi::library().await;

    api.get("/rpc/total?ns=1&ns=2&ns=3")
        .await
        .expect_json(200, json!(6));
    api.post("/rpc/total", json!({ "ns": [4, 5] }))
        .await
        .expect_json(200, json!(9));
    api.get("/rpc/total").await.expect_json(200, json!(0));
    let form = api.call(Method::POST, "/rpc/total");
    let form = form
        .body("application/x-www-form-urlencoded", "ns=7&ns=8")
        .await;
    form.expect_json(200, json!(15));
}

#[tokio::test]
async fn overloads_are_distinguished_by_their_argument_names() {
    let api = TestApi::library().await;

    api.get("/rpc/pick?a=1")
        .await
        .expect_json(200, json!("one"));
    api.get("/rpc/pick?a=1&b=2")
        .await
        .expect_json(200, json!("two"));
    api.post("/rpc/pick", json!({ "b": 2, "a": 1 }))
        .await
        .expect_json(200, json!("two"));
}

#[tokio::test]
async fn an_unnamed_parameter_takes_the_whole_body() {
    let api = TestApi::library().await;
    let post = |name: &str, content_type: &str, body: &str| {
        api.call(Method::POST, &format!("/rpc/{name}"))
            .body(content_type, body)
    };

    post("shout", "text/plain", "loud & clear")
        .await
        .expect_json(200, json!("LOUD & CLEAR"));
    post("keys_of", "application/json", "{\"b\":1,\"a\":2}")
        .await
        .expect_json(200, json!(["b", "a"]));
    post("size_of", "application/octet-stream", "\u{0}\u{1}x")
        .await
        .expect_json(200, json!(3));
    post("root_of", "text/xml", "<a/>")
        .await
        .expect_json(200, json!("<a/>"));
    api.get("/rpc/shout")
        .await
        .expect_error_code(404, "PGRST202");
}

#[tokio::test]
async fn a_function_runs_exactly_once() {
    let settings = [("db-schemas", "library")];
    let api = TestApi::standalone(Database::fresh().await, &settings).await;

    for expected in 1..=3 {
        api.post("/rpc/count_call", json!({}))
            .await
            .expect_json(200, json!(expected));
    }
}

#[tokio::test]
async fn computed_relationships_are_embedded() {
    let api = TestApi::library().await;

    let to_one = api
        .get("/books?id=in.(1,4)&select=id,writer(name)&order=id")
        .await;
    let to_many = api.get("/books?id=eq.2&select=siblings(title)").await;
    let several = api.get("/books?id=eq.1&select=id,everybody(name)").await;
    let inner = api
        .get("/books?select=id,writer!inner(name)&writer.name=eq.Ada")
        .await;

    to_one.expect_json(
        200,
        json!([{ "id": 1, "writer": { "name": "Ada" } }, { "id": 4, "writer": null }]),
    );
    to_many.expect_json(200, json!([{ "siblings": [{ "title": "Nana" }] }]));
    assert_eq!(
        several.json().as_array().map(Vec::len),
        Some(3),
        "the parent is repeated"
    );
    inner.expect_json(200, json!([{ "id": 1, "writer": { "name": "Ada" } }]));
}
