//! `user_metadata`, which users write and every token contains.

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

fn filled(key: &str, bytes: usize) -> Value {
    json!({ key: "x".repeat(bytes) })
}

#[tokio::test]
async fn it_cannot_grow_without_end() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", "correct horse").await;
    let put = |data: Value| {
        let call = api.put("/user", json!({ "data": data })).session(&ann);
        async move { call.await }
    };

    put(filled("a", 15_000)).await.ok();
    put(filled("b", 15_000)).await.ok();
    let reply = put(filled("c", 15_000)).await;
    reply.expect_error_text(
        400,
        "validation_failed",
        "user_metadata cannot be larger than 32 KiB",
    );

    let user = api.get("/user").session(&ann).await.ok();
    assert!(user["user_metadata"].get("c").is_none());
    put(json!({ "a": null })).await.ok();
    put(filled("c", 15_000)).await.ok();
}

#[tokio::test]
async fn nor_begin_too_large() {
    let api = Api::start(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    let data = filled("a", 40_000);

    for (path, body) in [
        (
            "/signup",
            json!({ "email": "a@mail.dev", "password": "correct horse", "data": data }),
        ),
        ("/signup", json!({ "data": data })),
        ("/otp", json!({ "email": "a@mail.dev", "data": data })),
    ] {
        let reply = api.post(path, body).await;
        reply.expect_error(400, "validation_failed");
    }
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

/// An admin may store more; the user may remove it in steps.
#[tokio::test]
async fn what_is_too_large_already_may_shrink() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", "correct horse").await;
    let path = format!(
        "/admin/users/{}",
        ann["user"]["id"].as_str().expect("an id")
    );
    let large = json!({ "user_metadata": { "a": "x".repeat(40_000), "b": "x".repeat(40_000) } });
    api.put(&path, large).service_role().await.ok();

    let put = |data: Value| {
        let call = api.put("/user", json!({ "data": data })).session(&ann);
        async move { call.await }
    };
    put(json!({ "a": null })).await.ok();
    put(json!({ "c": 1 }))
        .await
        .expect_error(400, "validation_failed");
}

#[tokio::test]
async fn concurrent_changes_of_different_keys_are_all_stored() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", "correct horse").await;

    let calls = (0..8).map(|n| {
        let body = json!({ "data": { format!("key{n}"): n } });
        let call = api.put("/user", body).session(&ann);
        async move { call.await.ok() }
    });
    futures_util::future::join_all(calls).await;

    let user = api.get("/user").session(&ann).await.ok();
    for n in 0..8 {
        assert_eq!(user["user_metadata"][format!("key{n}")], n);
    }
}
