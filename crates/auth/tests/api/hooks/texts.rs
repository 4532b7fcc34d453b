//! The send-sms hook.

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, Sql};

const PHONES: [(&str, &str); 4] = [
    ("auth.sms.enable_signup", "true"),
    ("auth.sms.enable_confirmations", "true"),
    ("auth.mfa.phone.enroll_enabled", "true"),
    ("auth.mfa.phone.verify_enabled", "true"),
];

/// No provider is configured, so only the hook can send. The channel need not be one a provider
/// supports.
#[tokio::test]
async fn a_function_sends_messages_over_any_channel() {
    let api = with_function("send_sms", "return '{}';", &PHONES).await;

    let body = json!({ "phone": "+1 555 123 4567", "channel": "pigeon" });
    assert_eq!(api.post("/otp", body).await.ok(), json!({}));

    let events = recorded_events(&api).await;
    assert_eq!(events.as_array().map(Vec::len), Some(1), "{events}");
    let event = &events[0];
    assert_eq!(event["metadata"]["name"], "send-sms");
    assert_eq!(event["user"]["phone"], "15551234567");
    let otp = event["sms"]["otp"].as_str().expect("digits");
    assert_eq!(otp.len(), 6);
    assert_eq!(event["sms"], json!({ "otp": otp, "phone": "15551234567" }));
    let body = json!({ "type": "sms", "phone": "15551234567", "token": otp });
    api.post("/verify", body).await.ok();
}

#[tokio::test]
async fn messages_for_a_second_factor_are_marked() {
    let api = with_function("send_sms", "return '{}';", &PHONES).await;
    let session = api.sign_up("ann@mail.dev", PASSWORD).await;
    let body = json!({ "factor_type": "phone", "phone": "+1 555 123 4567" });
    let factor = api.post("/factors", body).session(&session).await.ok();
    let path = format!("/factors/{}", factor["id"].as_str().expect("an id"));

    let call = api.post(&format!("{path}/challenge"), json!({}));
    let challenge = call.session(&session).await.ok();

    let events = recorded_events(&api).await;
    assert_eq!(events.as_array().map(Vec::len), Some(1), "{events}");
    let sms = &events[0]["sms"];
    assert_eq!(
        *sms,
        json!({ "otp": sms["otp"], "phone": "15551234567", "sms_type": "mfa" })
    );
    assert_eq!(events[0]["user"]["email"], "ann@mail.dev");
    let body = json!({ "challenge_id": challenge["id"], "code": sms["otp"] });
    let call = api.post(&format!("{path}/verify"), body);
    call.session(&session).await.ok();
}

#[tokio::test]
async fn a_function_that_fails_fails_the_request() {
    let body = "raise exception 'no messages today';";
    let api = with_function("send_sms", body, &PHONES).await;

    let reply = api.post("/otp", json!({ "phone": "15551234567" })).await;

    reply.expect_error(500, "unexpected_failure");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}
