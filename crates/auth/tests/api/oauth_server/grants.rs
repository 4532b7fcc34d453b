//! What an application learns, and how a user turns it out.

use serde_json::{Value, json};

use super::World;

#[tokio::test]
async fn userinfo_says_what_the_scopes_allow() {
    let world = World::new().await;
    let info = async |tokens: &Value| {
        let reply = world.api.get("/oauth/userinfo").session(tokens).await;
        reply.ok()
    };
    let id = &world.user["user"]["id"];

    assert_eq!(info(&world.user).await, json!({ "sub": id }));
    let code = world.code("email").await;
    let tokens = world.exchange(&code).await.ok();
    let expected = json!({ "sub": id, "email": "ann@mail.dev", "email_verified": true });
    assert_eq!(info(&tokens).await, expected);
    let code = world.code("profile phone").await;
    let tokens = world.exchange(&code).await.ok();
    let profile = info(&tokens).await;
    assert_eq!(profile["name"], "ann@mail.dev");
    assert!(profile["user_metadata"].is_object() && profile["updated_at"].is_i64());
    assert_eq!(profile.get("email"), None);
    assert_eq!(profile.get("phone"), None);
    let reply = world.api.get("/oauth/userinfo").await;
    reply.refuses(401, "no_authorization");
}

#[tokio::test]
async fn a_user_sees_and_revokes_grants() {
    let world = World::new().await;
    let code = world.code("email phone").await;
    let tokens = world.exchange(&code).await.ok();
    let grants = async || {
        world
            .api
            .get("/user/oauth/grants")
            .session(&world.user)
            .await
    };
    let revoke = async |query: &str| {
        let path = format!("/user/oauth/grants{query}");
        world.api.delete(&path).session(&world.user).await
    };

    let listed = grants().await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["client"]["name"], "App");
    assert_eq!(listed[0]["scopes"], json!(["email", "phone"]));
    assert!(listed[0]["granted_at"].is_string());

    revoke("").await.refuses(400, "validation_failed");
    revoke("?client_id=x")
        .await
        .refuses(400, "validation_failed");
    let query = format!("?client_id={}", world.client_id());
    let reply = revoke(&query).await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (204, 0));
    assert_eq!(grants().await.ok(), json!([]));
    let audit = world.api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("token_revoked"));
    let reply = world.api.get("/user").session(&tokens).await;
    reply.refuses(403, "session_not_found");
    world.api.get("/user").session(&world.user).await.ok();
    revoke(&query).await.refuses(404, "oauth_consent_not_found");

    // Next time the user is asked again.
    let id = world.ask("email").await;
    assert_eq!(world.show(&id).await.ok()["scope"], "email");
}
