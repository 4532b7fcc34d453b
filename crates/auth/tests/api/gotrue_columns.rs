//! GoTrue reads some nullable columns as plain texts and fails on NULL: what Plinth writes there must be
//! an empty text, or users are locked out after going back to GoTrue. Checked here without a
//! GoTrue.

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, Requests, TextServer};

/// Of RFC 7636, appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const URI: &str = "https://app.example/callback";

const SETTINGS: [(&str, &str); 12] = [
    ("auth.mfa.phone.enroll_enabled", "true"),
    ("auth.mfa.phone.verify_enabled", "true"),
    ("auth.mfa.phone.template", "{{ .Code }}"),
    ("auth.mfa.web_authn.enroll_enabled", "true"),
    ("auth.mfa.web_authn.verify_enabled", "true"),
    ("auth.external.github.enabled", "true"),
    ("auth.external.github.client_id", "app"),
    ("auth.external.github.secret", "secret"),
    ("auth.email.enable_confirmations", "false"),
    ("auth.email.max_frequency", "0s"),
    ("auth.oauth_server.enabled", "true"),
    ("auth.oauth_server.allow_dynamic_registration", "true"),
];

/// Rows of a column, and those of them that are NULL.
async fn expect_no_null(api: &Api, column: &str, rows: i64) {
    let (table, name) = column.split_once('.').expect("a table");
    let sql = format!("select jsonb_build_array(count(*), count({name})) from auth.{table}");
    let counts = api.value(&sql, &[]).await;
    assert_eq!(counts, json!([rows, rows]), "rows and texts of {column}");
}

async fn enrol_and_challenge(api: &Api, session: &Value, factor: Value) {
    let factor = api.post("/factors", factor).session(session).await.ok();
    let path = format!(
        "/factors/{}/challenge",
        factor["id"].as_str().expect("an id")
    );
    api.post(&path, json!({})).session(session).await.ok();
}

#[tokio::test]
async fn factors_and_their_challenges_have_no_null() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&SETTINGS)).await;
    let session = api.sign_up("ann@mail.dev", "correct horse").await;

    for factor in [
        json!({ "factor_type": "phone", "friendly_name": "phone", "phone": "+15551234567" }),
        json!({ "factor_type": "webauthn", "friendly_name": "key" }),
        json!({ "factor_type": "totp", "friendly_name": "app" }),
    ] {
        enrol_and_challenge(&api, &session, factor).await;
    }

    expect_no_null(&api, "mfa_factors.secret", 3).await;
    expect_no_null(&api, "mfa_challenges.otp_code", 3).await;
}

#[tokio::test]
async fn flows_have_no_null() {
    let api = Api::start(&SETTINGS).await;
    api.sign_up("ann@mail.dev", "correct horse").await;
    let body = json!({
        "email": "ann@mail.dev", "code_challenge": CHALLENGE, "code_challenge_method": "s256",
    });

    api.post("/otp", body.clone()).await.ok();
    api.post("/recover", body).await.ok();
    let path =
        format!("/authorize?provider=github&code_challenge={CHALLENGE}&code_challenge_method=s256");
    let reply = api.get(&path).without_key().await;
    assert_eq!(reply.status, 302, "{reply:?}");

    for column in ["provider_access_token", "provider_refresh_token"] {
        expect_no_null(&api, &format!("flow_state.{column}"), 3).await;
    }
}

/// Flows without a verifier are stored, too.
#[tokio::test]
async fn an_implicit_flow_has_no_null() {
    let api = Api::start(&SETTINGS).await;

    let reply = api.get("/authorize?provider=github").without_key().await;

    assert_eq!(reply.status, 302, "{reply:?}");
    for column in ["provider_access_token", "provider_refresh_token"] {
        expect_no_null(&api, &format!("flow_state.{column}"), 1).await;
    }
}

#[tokio::test]
async fn public_applications_have_no_null() {
    let api = Api::start(&SETTINGS).await;
    let public = json!({
        "client_name": "App", "redirect_uris": [URI], "token_endpoint_auth_method": "none",
    });

    let admin = api.post("/admin/oauth/clients", public.clone());
    let made = admin.service_role().await;
    assert_eq!(made.status, 201, "{made:?}");
    let registered = api.post("/oauth/clients/register", public).without_key();
    let registered = registered.await;
    assert_eq!(registered.status, 201, "{registered:?}");

    expect_no_null(&api, "oauth_clients.client_secret_hash", 2).await;
}
