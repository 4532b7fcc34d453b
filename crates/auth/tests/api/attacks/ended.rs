//! Pending tokens and links of deleted users and former addresses.

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

/// Of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

#[tokio::test]
async fn a_code_of_a_deleted_account_opens_nothing() {
    let api = Api::start(&[]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    let body = json!({
        "email": "ann@mail.dev", "code_challenge": CHALLENGE, "code_challenge_method": "s256",
    });
    api.post("/recover", body).await.ok();
    let link = api.mail_to("ann@mail.dev").await.link();
    let reply = api.get(&link).without_key().await;
    let (_, code) = reply.location().split_once("?code=").expect("a code");
    let id = tokens["user"]["id"].as_str().expect("an id");

    let call = api.delete(&format!("/admin/users/{id}"));
    let call = call.json(&json!({ "should_soft_delete": true }));
    call.service_role().await.ok();

    let body = json!({ "auth_code": code, "code_verifier": VERIFIER });
    let reply = api.post("/token?grant_type=pkce", body).await;
    reply.expect_error(404, "flow_state_not_found");
    assert_eq!(api.count("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn mail_to_a_former_address_of_a_user_signs_no_user_in() {
    let api = Api::start(&[]).await;
    let tokens = api.sign_up("old@mail.dev", "correct horse").await;
    api.post("/recover", json!({ "email": "old@mail.dev" }))
        .await
        .ok();
    let mail = api.mail_to("old@mail.dev").await;
    let path = format!(
        "/admin/users/{}",
        tokens["user"]["id"].as_str().expect("an id")
    );

    let body = json!({ "email": "new@mail.dev" });
    api.put(&path, body).service_role().await.ok();

    let body = json!({ "type": "recovery", "token_hash": mail.token_hash() });
    api.post("/verify", body)
        .await
        .expect_error(403, "otp_expired");
    assert_eq!(
        api.count("select count(*) from auth.one_time_tokens").await,
        0
    );
}

/// A URL that no header can contain is not a redirect target.
#[tokio::test]
async fn a_redirect_with_a_line_break_ends_at_the_site() {
    let api = Api::start(&[("auth.email.enable_confirmations", "true")]).await;
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();
    let token = api.mail_to("ann@mail.dev").await.token_hash();

    let path = format!("/verify?type=signup&token={token}&redirect_to=http://localhost:3000/%0A");
    let reply = api.get(&path).without_key().await;

    assert_eq!(reply.status, 303, "{reply:?}");
    let location = reply.location();
    assert!(
        location.starts_with("http://localhost:3000#access_token="),
        "{location}"
    );
}
