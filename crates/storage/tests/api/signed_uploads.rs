//! Uploads to signed URLs (storage contract §3.2).

use http::Method;
use serde_json::{Value, json};

use crate::support::{
    ANN, Call, ErrorBody, Requests, Sql, StorageCall, StorageReply, TestApi, claims, now, sign,
};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    let body = json!({ "name": "b", "public": true, "file_size_limit": 10 });
    api.post("/bucket", body).service_role().await.expect_ok();
    api.execute("create policy o on storage.objects for insert to authenticated with check (true)")
        .await;
    api
}

async fn signed(call: Call) -> Value {
    let reply = call.await;
    reply.expect_ok().json()
}

fn put(api: &TestApi, url: &str, content: &str) -> Call {
    api.call(Method::PUT, url).body("text/plain", content)
}

#[tokio::test]
async fn a_token_says_who_where_and_how() {
    let api = api().await;

    let response = signed(api.post("/object/upload/sign/b/a b", json!({})).user(ANN)).await;

    let token = response["token"].as_str().expect("a token");
    let url = format!("/object/upload/sign/b/a b?token={token}");
    assert_eq!(response, json!({ "url": url, "token": token }));
    let claims = claims(token);
    assert_eq!(claims["url"], "b/a b");
    assert_eq!(claims["owner"], ANN);
    assert_eq!(claims["upsert"], false);
    assert_eq!(claims["scope"], "upload");
    let times = [&claims["iat"], &claims["exp"]].map(|time| time.as_i64().expect("a time"));
    assert_eq!(times[1] - times[0], 7200);
    put(&api, &url, "x")
        .await
        .expect_json(200, json!({ "Key": "b/a b" }));
    let row = api.query_one("select owner_id from storage.objects").await;
    assert_eq!(row.get::<_, &str>(0), ANN);
}

#[tokio::test]
async fn without_a_body_and_without_a_name_it_works_as_well() {
    let api = api().await;
    let response = signed(
        api.call(Method::POST, "/object/upload/sign/b/a")
            .service_role(),
    )
    .await;
    let token = response["token"].as_str().expect("a token");
    assert_eq!(claims(token).get("owner"), None);
}

#[tokio::test]
async fn a_token_is_good_again_only_if_it_may_replace() {
    let api = api().await;
    let once = signed(
        api.post("/object/upload/sign/b/a", json!({}))
            .service_role(),
    )
    .await;
    let often = signed(
        api.post("/object/upload/sign/b/a", json!({}))
            .service_role()
            .upsert(),
    )
    .await;
    let [once, often] = [&once, &often].map(|response| response["url"].as_str().expect("a URL"));

    put(&api, once, "first").await.expect_ok();
    let again = put(&api, once, "second").upsert().await;
    again
        .fails_with(ErrorBody::KEY_EXISTS)
        .expect_header("connection", "close");
    put(&api, often, "third")
        .header("x-upsert", "false")
        .await
        .expect_ok();
    put(&api, often, "fourth").await.expect_ok();
    api.get("/object/public/b/a")
        .await
        .expect_text(200, "fourth");
}

#[tokio::test]
async fn the_rules_of_the_bucket_hold() {
    let api = api().await;
    let response = signed(
        api.post("/object/upload/sign/b/a", json!({}))
            .service_role(),
    )
    .await;
    let url = response["url"].as_str().expect("a URL");
    put(&api, url, "much too long")
        .await
        .fails_with(ErrorBody::TOO_LARGE);
    let body = json!({ "allowed_mime_types": ["image/png"] });
    api.put("/bucket/b", body).service_role().await.expect_ok();
    put(&api, url, "x")
        .await
        .fails_with_code(415, "InvalidMimeType");
    assert_eq!(api.files(), (0, 0));
}

#[tokio::test]
async fn asking_is_a_trial_of_the_upload() {
    let api = api().await;
    api.has_object("b/there", "x").await;
    let ask = |path: &str| api.post(&format!("/object/upload/sign/{path}"), json!({}));

    ask("b/there")
        .user(ANN)
        .await
        .fails_with(ErrorBody::KEY_EXISTS);
    ask("b/there")
        .user(ANN)
        .upsert()
        .await
        .fails_with(ErrorBody::RLS);
    ask("b/there").service_role().upsert().await.expect_ok();
    ask("none/a")
        .user(ANN)
        .await
        .fails_with(ErrorBody::RELATED_MISSING);
    ask("b/new").role("anon").await.fails_with(ErrorBody::RLS);
    ask("b/bad~key")
        .user(ANN)
        .await
        .fails_with_code(400, "InvalidKey");
    assert_eq!(api.count("select count(*) from storage.objects").await, 1);
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn a_bad_token_is_rejected() {
    let api = api().await;
    api.has_object("b/there", "x").await;
    let with = async |token: &str| {
        let url = format!("/object/upload/sign/b/a?token={token}");
        put(&api, &url, "x").await
    };
    let bare = put(&api, "/object/upload/sign/b/a", "x").await;
    bare.rejects_field("querystring must have required property 'token'")
        .expect_header("connection", "close");
    with("nonsense").await.fails_with(ErrorBody(
        400,
        "InvalidJWT",
        "InvalidJWT",
        "Invalid Compact JWS",
    ));
    let legacy = |claims: Value| sign(&claims);
    let expired = json!({ "url": "b/a", "upsert": false, "exp": now() - 9 });
    with(&legacy(expired)).await.fails_with(ErrorBody(
        400,
        "InvalidJWT",
        "InvalidJWT",
        "\"exp\" claim timestamp check failed",
    ));
    let download = json!({ "url": "b/a", "exp": now() + 60 });
    with(&legacy(download)).await.fails_with(ErrorBody(
        400,
        "InvalidSignature",
        "InvalidSignature",
        "Token is not scoped for upload",
    ));
    let other = json!({ "url": "b/c", "upsert": false, "exp": now() + 60 });
    with(&legacy(other)).await.fails_with(ErrorBody(
        400,
        "InvalidSignature",
        "InvalidSignature",
        "Invalid signature",
    ));
    let old = json!({ "url": "b/a", "upsert": false, "exp": now() + 60 });
    with(&legacy(old))
        .await
        .expect_json(200, json!({ "Key": "b/a" }));
}

#[tokio::test]
async fn how_long_a_token_lives_can_be_set() {
    let api = TestApi::with(&[("plinth.storage.signed_upload_expiry", "60s")]).await;
    api.has_bucket("b", false).await;
    let response = signed(
        api.post("/object/upload/sign/b/a", json!({}))
            .service_role(),
    )
    .await;
    let claims = claims(response["token"].as_str().expect("a token"));
    let times = [&claims["iat"], &claims["exp"]].map(|time| time.as_i64().expect("a time"));
    assert_eq!(times[1] - times[0], 60);
}
