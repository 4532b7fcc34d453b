//! Invalid requests (§7.3), in the order of their codes.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Call, Database, Requests, RestCall, RestReply, Sql, TestApi};

async fn check(call: Call, status: u16, code: &str, message: &str) {
    call.await.expect_error(status, code, message);
}

#[tokio::test]
async fn parse_errors_are_reported_with_their_position() {
    let api = TestApi::library().await;
    let cases = [
        ("select=id,,", "select parameter (id,,)", 4),
        ("columns=", "columns parameter ()", 1),
        ("on_conflict=", "on_conflict parameter ()", 1),
        ("order=", "order ()", 1),
        ("order=id.up", "order (id.up)", 4),
        ("id=", "filter ()", 1),
        ("id=is.maybe", "filter (is.maybe)", 4),
        ("id=in.1,2", "filter (in.1,2)", 4),
        ("and=(id.eq)", "logic tree ((id.eq))", 10),
    ];

    for (query, what, column) in cases {
        let reply = if query.starts_with("columns") || query.starts_with("on_conflict") {
            api.post(&format!("/books?{query}"), json!({})).await
        } else {
            api.get(&format!("/books?{query}")).await
        };
        reply.expect_error_code(400, "PGRST100");
        let message = format!("\"failed to parse {what}\" (line 1, column {column})");
        assert_eq!(reply.json()["message"], message, "{query}");
    }
}

#[tokio::test]
async fn methods_that_a_resource_does_not_have_are_rejected() {
    let api = TestApi::library().await;
    let trace = Method::TRACE;

    let rpc = "Cannot use the PATCH method on RPC";
    check(api.patch("/rpc/add", json!({})), 405, "PGRST101", rpc).await;
    let table = "Unsupported HTTP method: TRACE";
    check(api.call(trace, "/books"), 405, "PGRST117", table).await;
    let root = "Unsupported HTTP method: POST";
    check(api.post("/", json!({})), 405, "PGRST117", root).await;
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_rejected() {
    let api = TestApi::own_library().await;
    let post = |content_type: &str, body: &str| {
        api.call(Method::POST, "/with_defaults")
            .body(content_type, body)
    };
    let json = "application/json";
    let cases = [
        (json, "", "Empty or invalid json"),
        (json, "{\"a\":", "Empty or invalid json"),
        (json, "[{\"a\":1},{\"b\":1}]", "All object keys must match"),
        (json, "[1]", "All object keys must match"),
        (
            "text/csv",
            "a,b\n1,2\n3",
            "All lines must have same number of fields",
        ),
        ("image/png", "x", "Content-Type not acceptable: image/png"),
    ];

    for (content_type, body, message) in cases {
        check(post(content_type, body), 400, "PGRST102", message).await;
    }
}

#[tokio::test]
async fn ranges_that_cannot_be_are_not_satisfiable() {
    let api = TestApi::library().await;
    let message = "Requested range not satisfiable";
    let rejected = async |call: Call, details: &str| {
        call.await
            .expect_error_with(416, "PGRST103", message, json!(details), Value::Null);
    };

    let negative = "Limit should be greater than or equal to zero.";
    rejected(api.get("/books?limit=-1"), negative).await;
    let order = "The lower boundary must be lower than or equal to the upper boundary in the \
                 Range header.";
    rejected(api.get("/books").header("Range", "5-1"), order).await;
    let beyond = "An offset of 9 was requested, but there are only 4 rows.";
    let reply = api.get("/books?offset=9").prefer("count=exact").await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()["details"].as_str()),
        (416, Some(beyond))
    );
}

#[tokio::test]
async fn puts_that_do_not_name_one_row_are_rejected() {
    let api = TestApi::own_library().await;
    let body = || json!({ "book_id": 1, "copy_no": 1, "shelf": "Z" });
    let filters = "Filters must include all and only primary key columns with 'eq' operators";
    for query in [
        "book_id=eq.1",
        "book_id=eq.1&copy_no=gt.1",
        "book_id=eq.1&copy_no=eq.1&shelf=eq.A",
        "book_id=eq.1&copy_no=not.eq.1",
        "and=(book_id.eq.1,copy_no.eq.1)",
    ] {
        check(
            api.put(&format!("/copies?{query}"), body()),
            405,
            "PGRST105",
            filters,
        )
        .await;
    }
    let limited = "limit/offset querystring parameters are not allowed for PUT";
    let path = "/copies?book_id=eq.1&copy_no=eq.1&limit=1";
    check(api.put(path, body()), 400, "PGRST114", limited).await;
    let other = "Payload values do not match URL in primary key column(s)";
    let path = "/copies?book_id=eq.1&copy_no=eq.2";
    check(api.put(path, body()), 400, "PGRST115", other).await;
    let shelf = api
        .db
        .query_one("select shelf from library.copies where copy_no = 2")
        .await;
    assert_eq!(shelf.get::<_, Option<&str>>(0), None, "nothing was changed");
}

#[tokio::test]
async fn what_is_not_offered_is_not_acceptable() {
    let api = TestApi::library().await;
    let none = "None of these media types are available: ";

    let unknown = format!("{none}image/png, text/html");
    check(
        api.get("/books").accept("image/png, text/html"),
        406,
        "PGRST107",
        &unknown,
    )
    .await;
    let plan = "application/vnd.pgrst.plan+json";
    let reply = api.get("/books").accept(plan).await;
    reply.expect_error_code(406, "PGRST107");
    let profile = api.get("/books").header("Accept-Profile", "public").await;
    let hint = json!("Only the following schemas are exposed: library");
    profile.expect_error_with(406, "PGRST106", "Invalid schema: public", Value::Null, hint);
}

#[tokio::test]
async fn strict_handling_names_what_it_does_not_know() {
    let api = TestApi::library().await;

    let strict = api
        .get("/books")
        .prefer("handling=strict, count=none, x=y")
        .await;
    let lenient = api
        .get("/books")
        .prefer("handling=lenient, count=none")
        .await;
    let one_row = api
        .post("/rpc/add", json!({ "a": 1 }))
        .prefer("handling=strict, max-affected=1")
        .await;

    let message = "Invalid preferences given with handling=strict";
    let details = json!("Invalid preferences: count=none, x=y");
    strict.expect_error_with(400, "PGRST122", message, details, Value::Null);
    assert_eq!(lenient.status, 200);
    let message = "Function must return SETOF or TABLE when max-affected preference is used with \
                   handling=strict";
    one_row.expect_error(400, "PGRST128", message);
}

#[tokio::test]
async fn paths_that_lead_nowhere_are_rejected() {
    let library = [("db-schemas", "library"), ("openapi-mode", "disabled")];
    let api = TestApi::standalone(Database::shared().await, &library).await;

    for path in ["/books/", "/books/1", "/rpc/add/", "/rpc/add/x", "//"] {
        let message = "Invalid path specified in request URL";
        check(api.get(path), 404, "PGRST125", message).await;
    }
    check(
        api.get("/"),
        404,
        "PGRST126",
        "Root endpoint metadata is disabled",
    )
    .await;
    let relation = "Could not find the table 'library.rpc' in the schema cache";
    check(api.get("/rpc"), 404, "PGRST205", relation).await;
}

#[tokio::test]
async fn errors_say_less_where_that_is_wanted() {
    let settings = [
        ("db-schemas", "library"),
        ("client-error-verbosity", "minimal"),
    ];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    let reply = api.get("/book").await;

    let message = "Could not find the table 'library.book' in the schema cache";
    reply.expect_json(404, json!({ "code": "PGRST205", "message": message }));
    assert_eq!(
        reply.text(),
        format!("{{\"code\":\"PGRST205\",\"message\":\"{message}\"}}")
    );
}

#[tokio::test]
async fn an_error_to_head_has_its_code_in_a_header_only() {
    let api = TestApi::library().await;

    let reply = api.head("/nowhere").await;

    assert_eq!((reply.status.as_u16(), reply.text()), (404, ""));
    reply.expect_header("proxy-status", "PostgREST; error=PGRST205");
}
