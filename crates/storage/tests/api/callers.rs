//! Callers and credentials (storage contract §1.2).

use serde_json::json;

use crate::support::{
    ANN, ErrorBody, PUBLISHABLE_KEY, Reply, Requests, SECRET_KEY, Sql, StorageReply, TestApi, now,
    sign,
};

fn jwt_error(message: &'static str) -> ErrorBody {
    ErrorBody(403, "AccessDenied", "Unauthorized", message)
}

/// Policies show each role the bucket of its name.
async fn api() -> TestApi {
    let api = TestApi::start().await;
    for role in ["anon", "authenticated", "service_role"] {
        api.has_bucket(role, false).await;
    }
    api.execute(
        "create policy own on storage.buckets for select to anon, authenticated
         using (name = current_user)",
    )
    .await;
    api
}

fn names(reply: &Reply) -> Vec<String> {
    let body = reply.expect_ok().json();
    let buckets = body.as_array().expect("a list").iter();
    buckets
        .map(|bucket| bucket["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[tokio::test]
async fn keys_and_tokens_are_taken_in_every_form() {
    let api = api().await;
    let token = sign(&json!({ "role": "authenticated", "sub": ANN }));
    let roles =
        async |header: &str, value: &str| names(&api.get("/bucket").header(header, value).await);

    assert_eq!(roles("apikey", PUBLISHABLE_KEY).await, ["anon"]);
    assert_eq!(roles("apikey", SECRET_KEY).await.len(), 3);
    for scheme in ["Bearer ", "bearer ", "BEARER  ", ""] {
        let value = format!("{scheme}{PUBLISHABLE_KEY}");
        assert_eq!(roles("authorization", &value).await, ["anon"]);
        let value = format!("{scheme}{token}");
        assert_eq!(roles("authorization", &value).await, ["authenticated"]);
    }
    let both = api.get("/bucket").header("apikey", PUBLISHABLE_KEY);
    assert_eq!(names(&both.bearer(&token).await), ["authenticated"]);
    let empty = api.get("/bucket").header("apikey", PUBLISHABLE_KEY);
    assert_eq!(names(&empty.header("authorization", "").await), ["anon"]);
}

#[tokio::test]
async fn a_token_without_a_role_is_anonymous() {
    let api = api().await;
    let reply = api
        .get("/bucket")
        .bearer(&sign(&json!({ "sub": ANN })))
        .await;
    assert_eq!(names(&reply), ["anon"]);
}

#[tokio::test]
async fn a_role_that_is_none_is_denied() {
    let api = api().await;
    for role in ["nobody_at_all", "supabase_storage_admin", "postgres"] {
        let reply = api.get("/bucket").role(role).await;
        reply.fails_with_code(403, "AccessDenied");
    }
}

#[tokio::test]
async fn without_a_credential_the_missing_header_is_named() {
    let api = api().await;
    for call in [
        api.get("/bucket"),
        api.get("/bucket/anon"),
        api.post("/bucket", json!({ "name": "b" })),
        api.put("/bucket/anon", json!({ "public": true })),
        api.delete("/bucket/anon"),
        api.post("/bucket/anon/empty", json!({})),
        api.upload("anon/a", "x"),
        api.put("/object/anon/a", json!({})),
        api.delete("/object/anon/a"),
        api.delete("/object/anon")
            .json(&json!({ "prefixes": ["a"] })),
        api.post("/object/list/anon", json!({ "prefix": "" })),
        api.post("/object/sign/anon/a", json!({ "expiresIn": 60 })),
        api.post(
            "/object/sign/anon",
            json!({ "expiresIn": 60, "paths": ["a"] }),
        ),
        api.post("/object/upload/sign/anon/a", json!({})),
        api.post("/object/move", json!({})),
        api.post("/object/copy", json!({})),
        api.get("/object/authenticated/anon/a"),
        api.get("/object/info/authenticated/anon/a"),
    ] {
        call.await.fails_with(ErrorBody::NO_AUTHORIZATION);
    }
    let list = api.post("/object/list-v2/anon", json!({})).await;
    list.fails_with(jwt_error("Invalid Compact JWS"));
    api.get("/health")
        .await
        .fails_with(jwt_error("Invalid Compact JWS"));
    let health = api.get("/health").service_role().await;
    health.expect_json(200, json!({ "healthy": true }));
}

#[tokio::test]
async fn a_bad_token_is_rejected_with_the_message_of_upstream() {
    let api = api().await;
    let rejected = async |value: &str, message: &'static str| {
        let reply = api.get("/bucket").header("authorization", value).await;
        reply.fails_with(jwt_error(message));
    };
    let good = sign(&json!({ "role": "anon" }));
    let (signed, _) = good.rsplit_once('.').expect("three parts");

    rejected("Bearer nonsense", "Invalid Compact JWS").await;
    rejected("nonsense", "Invalid Compact JWS").await;
    rejected("Bearer ", "Invalid Compact JWS").await;
    rejected("Basic dXNlcjpwYXNz", "Invalid Compact JWS").await;
    rejected(
        &format!("Bearer {signed}.AAAA"),
        "signature verification failed",
    )
    .await;
    let expired = sign(&json!({ "role": "service_role", "exp": now() - 3600 }));
    rejected(
        &format!("Bearer {expired}"),
        "\"exp\" claim timestamp check failed",
    )
    .await;
    let reply = api.get("/bucket").bearer("sb_secret_forged").await;
    reply.fails_with_code(403, "AccessDenied");
}

#[tokio::test]
async fn a_signed_url_is_no_credential() {
    let api = api().await;
    let link = sign(&json!({ "url": "anon/a", "exp": now() + 60 }));
    let upload = sign(&json!({ "url": "anon/a", "upsert": true, "owner": ANN, "exp": now() + 60 }));
    for token in [link, upload] {
        let reply = api.get("/bucket").bearer(&token).await;
        assert_eq!(reply.status, 400, "{reply:#?}");
    }
    // An access token may have a claim of that name.
    let access_token =
        sign(&json!({ "url": "https://ann.dev", "role": "authenticated", "sub": ANN }));
    let reply = api.get("/bucket").bearer(&access_token).await;
    assert_eq!(names(&reply), ["authenticated"]);
}
