//! A request uses one database connection, so that requests cannot deadlock in the pool.

use std::time::Duration;

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, Requests};

#[tokio::test]
async fn who_shows_a_nonce_needs_one_connection() {
    let api = Api::with_one_connection(&[
        ("auth.email.secure_password_change", "true"),
        ("auth.jwt_expiry", "604800"),
        ("plinth.account.self_delete", "hard"),
    ])
    .await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    api.advance(Duration::from_secs(2 * 24 * 3600));
    api.get("/reauthenticate").session(&tokens).await.ok();
    let nonce = api.mail_to("ann@mail.dev").await.otp();

    let wrong = json!({ "password": "another horse", "nonce": "no" });
    let reply = api.put("/user", wrong).session(&tokens).await;
    reply.expect_error(422, "reauthentication_not_valid");
    let right = json!({ "password": "another horse", "nonce": nonce });
    api.put("/user", right).session(&tokens).await.ok();

    api.advance(Duration::from_secs(3600));
    api.get("/reauthenticate").session(&tokens).await.ok();
    let nonce = api.mail_to("ann@mail.dev").await.otp();
    let call = api.delete("/user").json(&json!({ "nonce": nonce }));
    let reply = call.session(&tokens).await;
    assert_eq!(reply.status, 204, "{reply:?}");
}

#[tokio::test]
async fn who_shows_a_security_key_needs_one_connection() {
    let api = Api::with_one_connection(&[
        ("auth.mfa.web_authn.enroll_enabled", "true"),
        ("auth.mfa.web_authn.verify_enabled", "true"),
    ])
    .await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let body = json!({ "factor_type": "webauthn", "friendly_name": "key" });
    let factor = api.post("/factors", body).session(&tokens).await.ok();
    let id = factor["id"].as_str().expect("an id");

    let body = json!({
        "challenge_id": "00000000-0000-0000-0000-000000000001",
        "webauthn": { "type": "create", "credential_response": {} },
    });
    let call = api.post(&format!("/factors/{id}/verify"), body);
    let reply = call.session(&tokens).await;

    reply.expect_error(422, "mfa_factor_not_found");
}
