//! Phone factors.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::support::{AuthCall, AuthReply, Remote, Requests, Sql, claims};

const PHONE: &str = "+1 555 123 4567";

async fn with_phones(remote: &Remote, provider: &str) -> (Api, Value) {
    let provider = |tail: &str| format!("auth.sms.{provider}.{tail}");
    let names = [
        "enabled",
        "account_sid",
        "auth_token",
        "message_service_sid",
    ]
    .map(provider);
    let values = ["true", "AC1", "token", "MG1"];
    let provider = names.iter().map(String::as_str).zip(values);
    let settings = [
        ("auth.mfa.phone.enroll_enabled", "true"),
        ("auth.mfa.phone.verify_enabled", "true"),
        ("auth.mfa.phone.template", "MFA {{ .Code }}"),
        ("auth.mfa.phone.max_frequency", "1m"),
        ("plinth.auth.sms.base_url", remote.url.as_str()),
    ];
    let settings: Vec<_> = settings.into_iter().chain(provider).collect();
    ann(&settings).await
}

async fn enrol_phone(api: &Api, session: &Value, name: &str) -> Reply {
    let body = json!({ "factor_type": "phone", "friendly_name": name, "phone": PHONE });
    api.post("/factors", body).session(session).await
}

/// The code of the last message.
fn sent(remote: &Remote) -> String {
    let requests = remote.received();
    let form = requests.last().expect("a message").form();
    let body = form.iter().find(|(name, _)| name == "Body");
    let body = &body.unwrap_or_else(|| panic!("a text in {form:?}")).1;
    body.strip_prefix("MFA ").expect("our words").to_owned()
}

#[tokio::test]
async fn a_code_that_was_sent_raises_the_session() {
    let remote = Remote::start(201, r#"{"sid":"SM1","status":"queued"}"#).await;
    let (api, session) = with_phones(&remote, "twilio").await;
    let factor = enrol_phone(&api, &session, "phone").await.ok();
    assert_eq!(
        factor,
        json!({
            "id": factor["id"], "type": "phone", "friendly_name": "phone", "phone": "15551234567",
        })
    );

    let issued = challenge(&api, &session, &factor).await;

    assert_eq!(issued["type"], "phone");
    let code = sent(&remote);
    assert_eq!(code.len(), 6);
    let wrong = if code == "000000" { "000001" } else { "000000" };
    let reply = verify(&api, &session, &factor, &issued, wrong).await;
    reply.expect_error(422, "mfa_verification_failed");
    let raised = verify(&api, &session, &factor, &issued, &code).await.ok();
    let token = claims(raised["access_token"].as_str().expect("a token"));
    assert_eq!(token["aal"], "aal2");
    assert_eq!(token["amr"][0]["method"], "mfa/phone");
    let again = verify(&api, &raised, &factor, &issued, &code).await;
    again.expect_error(422, "mfa_ip_address_mismatch");
}

#[tokio::test]
async fn messages_have_a_minute_between_them() {
    let remote = Remote::start(201, r#"{"sid":"SM1","status":"queued"}"#).await;
    let (api, session) = with_phones(&remote, "twilio").await;
    let factor = enrol_phone(&api, &session, "phone").await.ok();
    challenge(&api, &session, &factor).await;

    let call = api.post(&path(&factor, "/challenge"), json!({}));
    let reply = call.session(&session).await;
    reply.expect_error(429, "over_sms_send_rate_limit");
    assert_eq!(remote.received().len(), 1);

    api.advance(Duration::from_secs(61));
    challenge(&api, &session, &factor).await;
    assert_eq!(remote.received().len(), 2);
}

#[tokio::test]
async fn a_message_that_cannot_be_sent_leaves_no_challenge() {
    let remote = Remote::start(400, r#"{"code":21211,"message":"no","status":400}"#).await;
    let (api, session) = with_phones(&remote, "twilio").await;
    let factor = enrol_phone(&api, &session, "phone").await.ok();

    let call = api.post(&path(&factor, "/challenge"), json!({}));
    let reply = call.session(&session).await;

    reply.expect_error(422, "sms_send_failed");
    assert_eq!(
        api.count("select count(*) from auth.mfa_challenges").await,
        0
    );
    let call = api.post(&path(&factor, "/challenge"), json!({ "channel": "pigeon" }));
    call.session(&session)
        .await
        .expect_error(400, "validation_failed");
}

#[tokio::test]
async fn a_number_that_was_not_confirmed_may_be_tried_again() {
    let remote = Remote::start(201, r#"{"sid":"SM1","status":"queued"}"#).await;
    let (api, session) = with_phones(&remote, "twilio").await;
    enrol_phone(&api, &session, "first").await.ok();

    let factor = enrol_phone(&api, &session, "second").await.ok();

    assert_eq!(
        statuses(&api, &session).await,
        [("second".to_owned(), "unverified".to_owned())]
    );
    let issued = challenge(&api, &session, &factor).await;
    let raised = verify(&api, &session, &factor, &issued, &sent(&remote))
        .await
        .ok();
    let reply = enrol_phone(&api, &raised, "third").await;
    reply.expect_error(422, "mfa_verified_factor_exists");
}

#[tokio::test]
async fn a_provider_that_makes_the_codes_also_checks_them() {
    let remote = Remote::start(201, r#"{"sid":"VE1","status":"pending"}"#).await;
    let (api, session) = with_phones(&remote, "twilio_verify").await;
    let factor = enrol_phone(&api, &session, "phone").await.ok();
    let issued = challenge(&api, &session, &factor).await;

    remote.set_response(404, "application/json", r#"{"code":20404,"status":404}"#);
    let reply = verify(&api, &session, &factor, &issued, "123456").await;
    reply.expect_error(403, "otp_expired");

    let approved = r#"{"sid":"VE1","status":"approved","valid":true}"#;
    remote.set_response(200, "application/json", approved);
    verify(&api, &session, &factor, &issued, "123456")
        .await
        .ok();
}
