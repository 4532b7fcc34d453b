//! `Accept-Profile` and `Content-Profile` (§3.6).

use serde_json::json;

use crate::support::{Database, Requests, RestCall, RestReply, TestApi};

#[tokio::test]
async fn each_method_has_its_own_profile_header() {
    let settings = [("db-schemas", "public,personal")];
    let api = TestApi::standalone(Database::fresh().await, &settings).await;
    let row = json!({ "username": "new" });

    let written = api
        .post("/users?select=username", row.clone())
        .header("Content-Profile", "personal")
        .header("Accept-Profile", "nowhere")
        .prefer("return=representation")
        .await;
    let read = api
        .get("/users?username=eq.new")
        .header("Accept-Profile", "personal")
        .header("Content-Profile", "nowhere")
        .await;
    let deleted = api
        .delete("/users?username=eq.new")
        .header("Content-Profile", "personal")
        .await;
    let called = api
        .post("/rpc/get_status", json!({ "name_param": "bob" }))
        .header("Content-Profile", "personal")
        .await;

    written
        .expect_json(201, json!([row]))
        .expect_header("content-profile", "personal");
    assert_eq!(read.json().as_array().map(Vec::len), Some(1));
    assert_eq!(deleted.status, 204);
    deleted.expect_no_header("content-profile");
    called.expect_error_code(404, "PGRST202");
}

#[tokio::test]
async fn the_first_schema_is_that_of_who_does_not_choose() {
    let settings = [("db-schemas", "personal,public")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    let reply = api.get("/users?select=username").await;

    reply.expect_json(200, json!([{ "username": "private person" }]));
    reply.expect_header("content-profile", "personal");
}

#[tokio::test]
async fn relationships_do_not_cross_schemas() {
    let settings = [("db-schemas", "personal,public")];
    let api = TestApi::standalone(Database::shared().await, &settings).await;

    api.get("/users?select=messages(*)")
        .await
        .expect_error_code(400, "PGRST200");
}
