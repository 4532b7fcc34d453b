//! All forms of the `Authorization` header (auth contract §1.1).

use crate::support::{Api, AuthReply, Requests, claims};

#[tokio::test]
async fn what_cannot_be_a_token_is_none() {
    let api = Api::start(&[]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let token = tokens["access_token"].as_str().expect("a token");

    for header in [
        "Bearer",
        "Bearer ",
        "bearer   ",
        "Bearer a b",
        &format!("Bearer {token} x"),
    ] {
        let reply = api.get("/user").header("authorization", header).await;
        reply.expect_error(401, "no_authorization");
        let reply = api.get("/admin/users").header("authorization", header);
        reply.await.expect_error(401, "no_authorization");
    }
    for header in [format!("bEARER {token}"), format!("Bearer   {token}")] {
        let reply = api.get("/user").header("authorization", &header).await;
        reply.ok();
    }
}

/// GoTrue sends no issuer unless configured; the full server always does.
#[tokio::test]
async fn tokens_name_their_issuer_where_there_is_one() {
    let api = Api::start(&[]).await;
    let issuer = |tokens: &serde_json::Value| {
        let token = tokens["access_token"].as_str().expect("a token");
        claims(token).get("iss").cloned()
    };
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    assert_eq!(issuer(&tokens), Some("http://api.test/auth/v1".into()));

    let api = api.standalone();
    let tokens = api.sign_up("bob@mail.dev", "correct horse").await;
    assert_eq!(issuer(&tokens), None);
}
