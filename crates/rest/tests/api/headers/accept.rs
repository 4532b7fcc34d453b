//! What the client accepts (§3.4).

use serde_json::json;

use crate::support::{Database, JSON, Requests, RestCall, RestReply, TestApi};

#[tokio::test]
async fn the_best_liked_type_that_there_is_wins() {
    let api = TestApi::library().await;
    let csv = "text/csv; charset=utf-8";
    let single = "application/vnd.pgrst.object+json; charset=utf-8";
    let cases = [
        ("*/*", JSON),
        ("application/json", JSON),
        ("APPLICATION/JSON", JSON),
        ("application/vnd.pgrst.array+json", JSON),
        ("image/png, text/csv", csv),
        ("application/json;q=0.5, text/csv;q=0.8", csv),
        ("text/csv;q=0.1, */*", JSON),
        ("application/vnd.pgrst.object", single),
        ("text/html,application/xhtml+xml,*/*;q=0.8", JSON),
    ];

    for (accept, content_type) in cases {
        let reply = api.get("/books?id=eq.1&select=id").accept(accept).await;
        assert_eq!(reply.status, 200, "{accept}: {reply:#?}");
        reply.expect_header("content-type", content_type);
    }
}

#[tokio::test]
async fn nulls_are_left_out_where_asked_for() {
    let api = TestApi::library().await;
    let array = "application/vnd.pgrst.array+json;nulls=stripped";
    let object = "application/vnd.pgrst.object+json;nulls=stripped";

    let many = api
        .get("/books?id=gte.3&select=id,price,isbn,extra&order=id")
        .accept(array)
        .await;
    let one = api
        .get("/kinds?select=id,numbers,legacy:plain->x")
        .accept(object)
        .await;

    many.expect_json(
        200,
        json!([{ "id": 3, "extra": {} }, { "id": 4, "price": 3.50, "extra": [1, 2] }]),
    );
    many.expect_header("content-type", &format!("{array}; charset=utf-8"));
    one.expect_json(200, json!({ "id": 1, "numbers": [1, null, 3] }));
    one.expect_header("content-type", &format!("{object}; charset=utf-8"));
}

#[tokio::test]
async fn csv_is_as_postgres_writes_rows() {
    let api = TestApi::library().await;

    let rows = api
        .get("/books?select=id,tags,isbn,ok:genre,authors(name)&order=id&limit=2")
        .accept("text/csv")
        .await;
    let none = api.get("/books?id=gt.99").accept("text/csv").await;
    let flags = api.get("/kinds?select=flag,plain").accept("text/csv").await;

    let lines = [
        "id,tags,isbn,ok,authors",
        "1,\"{math,\"\"old, rare\"\"}\",0001,essay,\"{\"\"name\"\":\"\"Ada\"\"}\"",
        "2,{france},0002,novel,\"{\"\"name\"\":\"\"Émile\"\"}\"",
    ];
    assert_eq!(rows.text(), lines.join("\n"));
    assert_eq!(none.text(), "\n");
    let line = "flag,plain\nt,\"{\"\"b\"\": 1, \"\"a\"\": 2,  \"\"a\"\": 3}\"";
    assert_eq!(flags.text(), line);
}

#[tokio::test]
async fn plans_take_options_and_say_for_what_they_are() {
    let settings = [("db-schemas", "library"), ("db-plan-enabled", "true")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;
    let accept = "application/vnd.pgrst.plan+json; for=\"text/csv\"; options=analyze|verbose";

    let reply = api.get("/books").accept(accept).await;

    let expected = "application/vnd.pgrst.plan+json; for=\"text/csv\"; options=analyze|verbose; \
                charset=utf-8";
    reply.expect_header("content-type", expected);
    let plan = &reply.json()[0]["Plan"];
    assert!(
        plan["Actual Rows"].is_number() && plan["Output"].is_array(),
        "{plan}"
    );
}

#[tokio::test]
async fn the_root_is_a_document_and_nothing_else() {
    let api = TestApi::library().await;
    let openapi = "application/openapi+json; charset=utf-8";

    for accept in ["*/*", "application/json", "application/openapi+json"] {
        let reply = api.get("/").accept(accept).await;
        assert_eq!(reply.status, 200, "{reply:#?}");
        reply.expect_header("content-type", openapi);
        assert_eq!(reply.json()["swagger"], "2.0");
    }
    api.get("/")
        .accept("text/csv")
        .await
        .expect_error_code(406, "PGRST107");
    let elsewhere = api.get("/books").accept("application/openapi+json").await;
    elsewhere.expect_error_code(406, "PGRST107");
    let head = api.head("/").await;
    assert_eq!((head.status.as_u16(), head.text()), (200, ""));
}

#[tokio::test]
async fn the_document_shows_what_the_caller_may_see() {
    let api = TestApi::library().await;

    let anonymous = api.get("/").await.json();
    let user = api.get("/").role("authenticated").await.json();

    assert!(anonymous["definitions"]["dropbox"].is_object());
    assert!(
        user["definitions"]["dropbox"].is_null(),
        "nothing was granted"
    );
    let id = &anonymous["definitions"]["books"]["properties"]["author_id"]["description"];
    let expected = "Note:\nThis is a Foreign Key to `authors.id`.<fk table='authors' column='id'/>";
    assert_eq!(id, expected);
    assert!(anonymous["paths"]["/rpc/add"]["get"].is_object());
}
