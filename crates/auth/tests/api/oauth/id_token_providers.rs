//! ID tokens of providers with their own claims (auth contract §2.3, §6.1).

use serde_json::{Value, json};

use super::{CONFIRM, identity, idp::CLIENT_ID, idp::Idp, start};
use crate::support::{Api, AuthReply, Reply, Requests};

/// Signs in with an ID token with these claims.
async fn sign_in_with(api: &Api, idp: &Idp, provider: &str, said: Value) -> Reply {
    let now = api.now().unix_timestamp();
    let mut claims = json!({
        "iss": idp.url, "aud": CLIENT_ID, "sub": "9", "iat": now, "exp": now + 600,
    });
    for (name, value) in said.as_object().expect("claims") {
        claims[name] = value.clone();
    }
    let body = json!({ "provider": provider, "id_token": idp.sign(&claims) });
    api.post("/token?grant_type=id_token", body).await
}

/// Checks the identity data from these claims.
async fn check(provider: &str, said: Value, expected: Value) {
    let (api, idp) = start(provider, &[CONFIRM]).await;
    idp.publish(&idp.url);

    let tokens = sign_in_with(&api, &idp, provider, said.clone()).await.ok();

    let user = &tokens["user"];
    assert_eq!(user["email"], "ann@mail.dev", "{provider}");
    assert!(user["email_confirmed_at"].is_string(), "{provider}");
    let identity = identity(user, provider);
    assert_eq!(identity["id"], expected["sub"], "{provider}");
    let data = &identity["identity_data"];
    assert_eq!(data["iss"], idp.url, "{provider}");
    assert_eq!(data["email_verified"], true, "{provider}");
    for (name, value) in expected.as_object().expect("claims") {
        assert_eq!(data[name], *value, "{provider}: {name} of {data}");
    }
    let again = sign_in_with(&api, &idp, provider, said).await.ok();
    assert_eq!(again["user"]["id"], user["id"], "{provider}");
    // Tokens for other applications are rejected.
    let reply = sign_in_with(&api, &idp, provider, json!({ "aud": "another" })).await;
    assert_eq!(reply.status, 400, "{provider}: {reply:?}");
}

#[tokio::test]
async fn azure() {
    let said = json!({
        "email": "Ann@Mail.dev", "xms_edov": "1", "name": "Ann Lee",
        "preferred_username": "ann@corp", "tid": "t-1", "ver": "2.0",
    });
    let expected = json!({
        "sub": "9", "email": "ann@mail.dev", "full_name": "Ann Lee",
        "preferred_username": "ann@corp",
    });
    check("azure", said, expected).await;
}

#[tokio::test]
async fn azure_keeps_what_else_the_token_says_and_may_not_vouch_for_the_address() {
    let (api, idp) = start("azure", &[CONFIRM]).await;
    idp.publish(&idp.url);
    let said = json!({ "email": "ann@mail.dev", "xms_edov": false, "tid": "t-1" });

    let reply = sign_in_with(&api, &idp, "azure", said).await;

    reply.expect_error(422, "provider_email_needs_verification");
    let sql = "select identity_data from auth.identities";
    let data = api.value(sql, &[]).await;
    assert_eq!(data["custom_claims"]["tid"], "t-1");
    assert!(data["custom_claims"].get("aud").is_none(), "{data}");
    let elsewhere = json!({ "iss": "https://evil.test/v2.0" });
    sign_in_with(&api, &idp, "azure", elsewhere)
        .await
        .expect_error(400, "validation_failed");
}

#[tokio::test]
async fn keycloak() {
    let said = json!({
        "email": "ann@mail.dev", "email_verified": true, "name": "Ann Lee",
        "preferred_username": "ann",
    });
    let expected = json!({
        "sub": "9", "email": "ann@mail.dev", "name": "Ann Lee", "preferred_username": "ann",
    });
    check("keycloak", said, expected).await;
}

#[tokio::test]
async fn keycloak_is_also_found_by_its_address() {
    let (api, idp) = start("keycloak", &[CONFIRM]).await;
    idp.publish(&idp.url);
    let now = api.now().unix_timestamp();
    let id_token = idp.sign(&json!({
        "iss": idp.url, "aud": CLIENT_ID, "sub": "9", "iat": now, "exp": now + 600,
        "email": "ann@mail.dev", "email_verified": true,
    }));

    let body = json!({ "issuer": idp.url, "client_id": "any", "id_token": id_token });
    let tokens = api.post("/token?grant_type=id_token", body).await.ok();

    assert_eq!(identity(&tokens["user"], "keycloak")["id"], "9");
}

#[tokio::test]
async fn kakao() {
    let said = json!({
        "email": "ann@mail.dev", "nickname": "ann", "picture": "https://a.test/p",
    });
    let expected = json!({
        "sub": "9", "email": "ann@mail.dev", "name": "ann", "preferred_username": "ann",
        "picture": "https://a.test/p",
    });
    check("kakao", said, expected).await;
}

#[tokio::test]
async fn vercel_identifies_the_user_beyond_one_installation() {
    let said = json!({
        "user_email": "ann@mail.dev", "user_name": "Ann", "user_avatar_url": "https://a.test/p",
        "global_user_id": "g-1",
    });
    let expected = json!({
        "sub": "global_user_id:g-1", "email": "ann@mail.dev", "name": "Ann",
        "picture": "https://a.test/p",
    });
    check("vercel_marketplace", said, expected).await;
}

#[tokio::test]
async fn snapchat() {
    let said = json!({ "email": "ann@mail.dev", "name": "Ann", "picture": "https://a.test/p" });
    let expected = json!({
        "sub": "9", "email": "ann@mail.dev", "full_name": "Ann", "avatar_url": "https://a.test/p",
    });
    check("snapchat", said, expected).await;
}
