use serde_json::json;

use crate::support::{
    Database, JSON, PUBLISHABLE_KEY, Requests, RestCall, RestReply, TestApi, now, sign,
};

/// Vector 31.
#[tokio::test]
async fn csv_has_a_header_and_no_last_newline() {
    let api = TestApi::chat().await;

    let reply = api
        .get("/users?select=username,data,status&order=username")
        .accept("text/csv")
        .await;

    let headers = [
        ("content-type", "text/csv; charset=utf-8"),
        ("content-range", "0-4/*"),
        (
            "content-location",
            "/users?order=username&select=username%2Cdata%2Cstatus",
        ),
    ];
    let lines = [
        "username,data,status",
        "\"a,b\",,OFFLINE",
        "alice,,ONLINE",
        "bob,,OFFLINE",
        "c,,ONLINE",
        "supabot,\"{\"\"lang\"\": \"\"en\"\"}\",ONLINE",
    ];
    reply.expect_whole(200, &headers, &lines.join("\n"));
}

/// Vector 32.
#[tokio::test]
async fn plans_are_shown_as_json_and_as_text() {
    let settings = [("db-schemas", "public"), ("db-plan-enabled", "true")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;
    let text = "application/vnd.pgrst.plan+text; for=\"application/json\"; options=;";

    let json = api
        .get("/users")
        .accept("application/vnd.pgrst.plan+json")
        .await;
    let text = api.get("/users").accept(text).await;

    let plan_type = |format: &str| {
        format!("application/vnd.pgrst.plan+{format}; for=\"application/json\"; charset=utf-8")
    };
    json.expect_header("content-type", &plan_type("json"));
    assert_eq!(json.status, 200);
    assert!(json.json()[0]["Plan"]["Plan Rows"].is_number(), "{json:#?}");
    text.expect_header("content-type", &plan_type("text"));
    assert_eq!(text.status, 200);
    assert!(text.text().starts_with("Aggregate  (cost="), "{text:#?}");
}

/// Vector 33.
#[tokio::test]
async fn a_profile_chooses_the_schema() {
    let settings = [("db-schemas", "public,personal")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    let other = api.get("/users").header("Accept-Profile", "personal").await;
    let unknown = api
        .get("/users")
        .header("Accept-Profile", "pg_catalog")
        .await;

    let headers = [
        ("content-type", JSON),
        ("content-range", "0-0/*"),
        ("content-location", "/users"),
        ("content-profile", "personal"),
    ];
    other.expect_whole_json(
        200,
        &headers,
        json!([{ "username": "private person", "status": "OFFLINE" }]),
    );
    let hint = json!("Only the following schemas are exposed: public, personal");
    let message = "Invalid schema: pg_catalog";
    unknown.expect_error_with(406, "PGRST106", message, json!(null), hint);
}

/// Vector 34.
#[tokio::test]
async fn bad_tokens_are_rejected_and_known_keys_are_taken() {
    let api = TestApi::full(Database::shared().await, &[]).await;
    let expired = sign(&json!({ "role": "anon", "exp": now() - 100 }));
    let cases = [
        (expired.as_str(), "PGRST303", "JWT expired"),
        ("a.b", "PGRST301", "Expected 3 parts in JWT; got 2"),
        ("", "PGRST301", "Empty JWT is sent in Authorization header"),
    ];

    for (token, code, message) in cases {
        let reply = api.get("/users").bearer(token).await;

        reply.expect_error(401, code, message);
        let challenge = format!("Bearer error=\"invalid_token\", error_description=\"{message}\"");
        reply.expect_header("www-authenticate", &challenge);
    }
    let known = api
        .get("/users?select=username&limit=1")
        .bearer(PUBLISHABLE_KEY)
        .await;
    known.expect_json(200, json!([{ "username": "supabot" }]));
    let unknown = api.get("/users").bearer("sb_publishable_made_up").await;
    assert_eq!(unknown.status, 401);
    assert!(unknown.has_error_body(), "{unknown:#?}");
}

/// Vector 35.
#[tokio::test]
async fn anonymous_callers_are_asked_for_a_token_and_users_are_forbidden() {
    let api = TestApi::chat().await;

    let anonymous = api.get("/secrets").await;
    let user = api.get("/secrets").role("authenticated").await;

    let message = "permission denied for table secrets";
    anonymous
        .expect_error(401, "42501", message)
        .expect_header("www-authenticate", "Bearer");
    user.expect_error(403, "42501", message)
        .expect_no_header("www-authenticate");
}

/// Vector 38.
#[tokio::test]
async fn a_preflight_response_allows_what_was_requested() {
    let api = TestApi::chat().await;

    let reply = api
        .options("/users")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "GET")
        .header(
            "Access-Control-Request-Headers",
            "apikey,prefer,x-client-info",
        )
        .await;

    assert_eq!((reply.status.as_u16(), reply.text()), (200, ""));
    let methods = "GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD";
    reply
        .expect_header("access-control-allow-origin", "*")
        .expect_header("access-control-allow-methods", methods)
        .expect_header("access-control-max-age", "86400");
    let allowed = reply
        .header("access-control-allow-headers")
        .expect("headers");
    let allowed: Vec<&str> = allowed.split(',').map(str::trim).collect();
    let expected = [
        "Authorization",
        "apikey",
        "prefer",
        "x-client-info",
        "Accept",
        "Accept-Language",
        "Content-Language",
    ];
    assert_eq!(allowed, expected);
}
