//! Adding and changing phone numbers.

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, TextServer};

const CONFIRM_NUMBERS: (&str, &str) = ("auth.sms.enable_confirmations", "true");
const NOTIFY: (&str, &str) = ("auth.email.notification.phone_changed.enabled", "true");
const FIRST: &str = "15551234567";
const SECOND: &str = "15559876543";

#[tokio::test]
async fn a_number_counts_at_once_where_it_need_not_be_proved() {
    let (api, tokens) = ann(&[]).await;

    let user = put(&api, &tokens, json!({ "phone": "+1 555 123 4567" }))
        .await
        .ok();

    assert_eq!(user["phone"], FIRST);
    assert!(user["phone_confirmed_at"].is_string());
    assert!(user.get("new_phone").is_none() && user.get("phone_change_sent_at").is_none());
    assert_eq!(user["app_metadata"]["providers"], json!(["email", "phone"]));
    let identity = &user["identities"][1];
    assert_eq!(identity["provider"], "phone");
    assert_eq!(identity["identity_data"]["phone"], FIRST);
    assert_eq!(identity["identity_data"]["phone_verified"], true);
}

#[tokio::test]
async fn a_number_of_another_user_is_rejected() {
    let (api, tokens) = ann(&[]).await;
    let eve = json!({ "phone": FIRST, "phone_confirm": true });
    api.post("/admin/users", eve).service_role().await.ok();

    let reply = put(&api, &tokens, json!({ "phone": FIRST })).await;

    reply.expect_error(422, "phone_exists");
    let user = api.get("/user").session(&tokens).await.ok();
    assert_eq!(user["phone"], "");
}

/// Sets a number, and verifies it if required.
async fn set(api: &Api, tokens: &Value, texts: &TextServer, phone: &str) {
    let user = put(api, tokens, json!({ "phone": phone })).await.ok();
    if user["new_phone"] == phone {
        let code = texts.code_to(phone);
        let body = json!({ "type": "phone_change", "phone": phone, "token": code });
        api.post("/verify", body).await.ok();
    }
    api.advance(Duration::from_secs(6));
    let user = api.get("/user").session(tokens).await.ok();
    assert_eq!(user["phone"], phone);
}

#[tokio::test]
async fn the_owner_is_notified_that_the_number_changed() {
    let texts = TextServer::start().await;
    for more in [&[NOTIFY][..], &[NOTIFY, CONFIRM_NUMBERS][..]] {
        let (api, tokens) = ann(&texts.settings(more)).await;
        set(&api, &tokens, &texts, FIRST).await;
        assert!(api.mails().await.is_empty(), "the first one is no change");

        set(&api, &tokens, &texts, SECOND).await;

        let mails = api.mails().await;
        assert_eq!(mails.len(), 1, "{mails:?}");
        assert_eq!(mails[0]["template"], "phone_changed_notification");
        assert_eq!(mails[0]["subject"], "Your phone number was changed");
        assert_eq!(mails[0]["recipient"], "ann@mail.dev");
        let text = mails[0]["text"].as_str().expect("a text");
        let said = format!("is now {SECOND}; it was {FIRST}.");
        assert!(text.contains(&said), "{text}");
    }
}
