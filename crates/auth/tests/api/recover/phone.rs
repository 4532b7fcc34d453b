//! Codes to phone numbers, resent or on demand.

use serde_json::Value;

use super::*;
use crate::support::{AuthCall, AuthReply, MESSAGE_ID, Reply, Requests, Sql, TextServer};

const CONFIRM_NUMBERS: (&str, &str) = ("auth.sms.enable_confirmations", "true");
const PHONE: &str = "15551234567";
const NEW_PHONE: &str = "15559876543";
const PASSWORD: &str = "correct horse";
/// Longer than the minimum interval between messages.
const A_WHILE: Duration = Duration::from_secs(6);

async fn resend(api: &Api, kind: &str, phone: &str) -> Value {
    let body = json!({ "type": kind, "phone": phone });
    api.post("/resend", body).await.ok()
}

async fn verify(api: &Api, kind: &str, phone: &str, code: &str) -> Reply {
    let body = json!({ "type": kind, "phone": phone, "token": code });
    api.post("/verify", body).await
}

/// A user with a confirmed number, signed in with a password.
async fn by_phone(texts: &TextServer, more: &[(&str, &str)]) -> (Api, Value) {
    let mut settings = texts.settings(more);
    settings.push(CONFIRM_NUMBERS);
    let api = Api::start(&settings).await;
    let body = json!({ "phone": PHONE, "phone_confirm": true, "password": PASSWORD });
    api.post("/admin/users", body).service_role().await.ok();
    let body = json!({ "phone": PHONE, "password": PASSWORD });
    let tokens = api.post("/token?grant_type=password", body).await.ok();
    (api, tokens)
}

#[tokio::test]
async fn a_code_is_sent_again_only_while_it_is_needed() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&[CONFIRM_NUMBERS])).await;
    let body = json!({ "phone": PHONE, "password": PASSWORD });
    api.post("/signup", body).await.ok();
    let soon = json!({ "type": "sms", "phone": PHONE });
    api.post("/resend", soon)
        .await
        .expect_error(429, "over_sms_send_rate_limit");
    api.advance(A_WHILE);

    let response = resend(&api, "sms", "+1 555 123 4567").await;

    assert_eq!(response, json!({ "message_id": MESSAGE_ID }));
    assert_eq!(texts.sent().len(), 2);
    verify(&api, "sms", PHONE, &texts.code_to(PHONE)).await.ok();
    api.advance(A_WHILE);
    for phone in [PHONE, NEW_PHONE] {
        assert_eq!(resend(&api, "sms", phone).await, json!({}), "{phone}");
    }
    assert_eq!(texts.sent().len(), 2);
}

#[tokio::test]
async fn the_code_for_a_new_number_is_sent_again_to_that_number() {
    let texts = TextServer::start().await;
    let (api, tokens) = by_phone(&texts, &[]).await;
    assert_eq!(resend(&api, "phone_change", PHONE).await, json!({}));
    let body = json!({ "phone": NEW_PHONE });
    api.put("/user", body).session(&tokens).await.ok();
    let first = texts.code_to(NEW_PHONE);
    api.advance(A_WHILE);

    let response = resend(&api, "phone_change", PHONE).await;

    assert_eq!(response, json!({ "message_id": MESSAGE_ID }));
    assert_eq!(texts.sent().len(), 2);
    let second = texts.code_to(NEW_PHONE);
    assert_ne!(first, second, "one in a million");
    verify(&api, "phone_change", NEW_PHONE, &first)
        .await
        .expect_error(403, "otp_expired");
    let changed = verify(&api, "phone_change", NEW_PHONE, &second).await.ok();
    assert_eq!(changed["user"]["phone"], NEW_PHONE);
    assert_eq!(changed["user"]["id"], tokens["user"]["id"]);
}

#[tokio::test]
async fn those_without_an_address_prove_themselves_again_by_phone() {
    let texts = TextServer::start().await;
    let strict = [
        ("auth.email.secure_password_change", "true"),
        ("auth.jwt_expiry", "604800"),
    ];
    let (api, tokens) = by_phone(&texts, &strict).await;
    api.advance(Duration::from_secs(24 * 3600 + 1));
    let ask = || api.get("/reauthenticate").session(&tokens);
    let change = |nonce: &str| {
        let body = json!({ "password": "battery staple", "nonce": nonce });
        api.put("/user", body).session(&tokens)
    };

    assert_eq!(ask().await.ok(), json!({ "message_id": MESSAGE_ID }));
    let late = texts.code_to(PHONE);
    // Codes by SMS expire after a minute, by mail after an hour.
    api.advance(Duration::from_secs(61));
    change(&late)
        .await
        .expect_error(422, "reauthentication_not_valid");
    ask().await.ok();
    change(&texts.code_to(PHONE)).await.ok();

    let body = json!({ "phone": PHONE, "password": "battery staple" });
    api.post("/token?grant_type=password", body).await.ok();
}

#[tokio::test]
async fn a_number_that_is_not_confirmed_proves_nothing() {
    let texts = TextServer::start().await;
    let (api, tokens) = by_phone(&texts, &[]).await;
    api.execute("update auth.users set phone_confirmed_at = null")
        .await;

    api.get("/reauthenticate")
        .session(&tokens)
        .await
        .expect_error(422, "phone_not_confirmed");

    assert!(texts.sent().is_empty());
}
