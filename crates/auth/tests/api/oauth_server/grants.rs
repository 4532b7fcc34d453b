//! Data for applications, and revoking their grants.

use serde_json::{Value, json};

use super::Fixture;
use crate::support::{AuthCall, AuthReply, Requests};

#[tokio::test]
async fn userinfo_says_what_the_scopes_allow() {
    let fixture = Fixture::new().await;
    let info = async |tokens: &Value| {
        let reply = fixture.api.get("/oauth/userinfo").session(tokens).await;
        reply.ok()
    };
    let id = &fixture.user["user"]["id"];

    assert_eq!(info(&fixture.user).await, json!({ "sub": id }));
    let code = fixture.code("email").await;
    let tokens = fixture.exchange(&code).await.ok();
    let expected = json!({ "sub": id, "email": "ann@mail.dev", "email_verified": true });
    assert_eq!(info(&tokens).await, expected);
    let code = fixture.code("profile phone").await;
    let tokens = fixture.exchange(&code).await.ok();
    let profile = info(&tokens).await;
    assert_eq!(profile["name"], "ann@mail.dev");
    assert!(profile["user_metadata"].is_object() && profile["updated_at"].is_i64());
    assert_eq!(profile.get("email"), None);
    assert_eq!(profile.get("phone"), None);
    let reply = fixture.api.get("/oauth/userinfo").await;
    reply.expect_error(401, "no_authorization");
}

#[tokio::test]
async fn a_user_sees_and_revokes_grants() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email phone").await;
    let tokens = fixture.exchange(&code).await.ok();
    let grants = async || {
        fixture
            .api
            .get("/user/oauth/grants")
            .session(&fixture.user)
            .await
    };
    let revoke = async |query: &str| {
        let path = format!("/user/oauth/grants{query}");
        fixture.api.delete(&path).session(&fixture.user).await
    };

    let listed = grants().await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["client"]["name"], "App");
    assert_eq!(listed[0]["scopes"], json!(["email", "phone"]));
    assert!(listed[0]["granted_at"].is_string());

    revoke("").await.expect_error(400, "validation_failed");
    revoke("?client_id=x")
        .await
        .expect_error(400, "validation_failed");
    let query = format!("?client_id={}", fixture.client_id());
    let reply = revoke(&query).await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (204, 0));
    assert_eq!(grants().await.ok(), json!([]));
    let audit = fixture.api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("token_revoked"));
    let reply = fixture.api.get("/user").session(&tokens).await;
    reply.expect_error(403, "session_not_found");
    fixture.api.get("/user").session(&fixture.user).await.ok();
    revoke(&query)
        .await
        .expect_error(404, "oauth_consent_not_found");

    // The next request needs consent again.
    let id = fixture.begin("email").await;
    assert_eq!(fixture.show(&id).await.ok()["scope"], "email");
}
