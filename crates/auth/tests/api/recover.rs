//! `POST /recover`, `POST /resend`, `GET /reauthenticate` (auth contract §2.6).

mod phone;

use std::time::Duration;

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");

#[tokio::test]
async fn a_recovery_mail_signs_in() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    let reply = api
        .post("/recover", json!({ "email": "Ann@Mail.dev" }))
        .await;

    assert_eq!(reply.ok(), json!({}));
    let mail = api.mail_to("ann@mail.dev").await;
    assert_eq!(mail.template(), "recovery");
    let location = api.get(&mail.link()).without_key().await;
    assert!(location.location().contains("type=recovery"));
    let log = api.audit().await;
    assert_eq!(log[2..], ["user_recovery_requested", "login"]);
}

#[tokio::test]
async fn an_unknown_address_gets_the_same_response_and_no_mail() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    let known = api
        .post("/recover", json!({ "email": "ann@mail.dev" }))
        .await;
    let unknown = api
        .post("/recover", json!({ "email": "eve@mail.dev" }))
        .await;

    assert_eq!(known.status, unknown.status);
    assert_eq!(known.body, unknown.body);
    assert_eq!(api.mails().await.len(), 1);
}

#[tokio::test]
async fn recovery_is_not_mailed_twice_a_minute() {
    let api = Api::start(&[("auth.email.max_frequency", "60s")]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;
    let ask = || api.post("/recover", json!({ "email": "ann@mail.dev" }));
    ask().await.ok();

    ask().await.expect_error(429, "over_email_send_rate_limit");
    // Magic links share the interval.
    api.post("/otp", json!({ "email": "ann@mail.dev" }))
        .await
        .expect_error(429, "over_email_send_rate_limit");
    api.advance(Duration::from_secs(60));
    ask().await.ok();
}

#[tokio::test]
async fn bad_requests_are_rejected() {
    let api = Api::start(&[]).await;
    for body in [
        json!({}),
        json!({ "email": "nobody" }),
        json!({ "email": "a@b.c\r\nBcc: eve@mail.dev" }),
        json!({ "email": "a@b.c", "code_challenge": "short", "code_challenge_method": "s256" }),
    ] {
        api.post("/recover", body)
            .await
            .expect_error(400, "validation_failed");
    }
    let off = Api::start(&[("auth.email.enable_signup", "false")]).await;
    off.post("/recover", json!({ "email": "a@b.c" }))
        .await
        .expect_error(400, "email_provider_disabled");
}

#[tokio::test]
async fn requests_from_one_address_are_limited() {
    let api = Api::start(&[]).await;
    for _ in 0..30 {
        api.post("/recover", json!({ "email": "eve@mail.dev" }))
            .await
            .ok();
    }

    api.post("/recover", json!({ "email": "eve@mail.dev" }))
        .await
        .expect_error(429, "over_request_rate_limit");
    // Others are not affected, and it passes.
    api.post("/recover", json!({ "email": "eve@mail.dev" }))
        .client_ip("192.0.2.7")
        .await
        .ok();
    api.advance(Duration::from_secs(300));
    api.post("/recover", json!({ "email": "eve@mail.dev" }))
        .await
        .ok();
}

#[tokio::test]
async fn a_confirmation_is_sent_again_only_while_it_is_needed() {
    let api = Api::start(&[CONFIRM, ("auth.email.max_frequency", "0s")]).await;
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();
    let again = || {
        api.post(
            "/resend",
            json!({ "type": "signup", "email": "ann@mail.dev" }),
        )
    };

    assert_eq!(again().await.ok(), json!({}));
    assert_eq!(api.mails().await.len(), 2);
    let code = api.mail_to("ann@mail.dev").await.otp();
    let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
    api.post("/verify", body).await.ok();
    assert_eq!(again().await.ok(), json!({}));
    let stranger = json!({ "type": "signup", "email": "eve@mail.dev" });
    assert_eq!(api.post("/resend", stranger).await.ok(), json!({}));
    assert_eq!(api.mails().await.len(), 2);
}

#[tokio::test]
async fn resend_says_what_it_needs() {
    let api = Api::start(&[]).await;
    for body in [
        json!({}),
        json!({ "type": "recovery", "email": "a@b.c" }),
        json!({ "type": "signup" }),
        json!({ "type": "signup", "phone": "15551234567" }),
        json!({ "type": "sms", "email": "a@b.c" }),
        json!({ "type": "signup", "email": "a@b.c", "phone": "15551234567" }),
    ] {
        api.post("/resend", body)
            .await
            .expect_error(400, "validation_failed");
    }
    api.post("/resend", json!({ "type": "sms", "phone": "15551234567" }))
        .await
        .expect_error(400, "phone_provider_disabled");
}

#[tokio::test]
async fn reauthentication_mails_digits_to_a_confirmed_address() {
    let api = Api::start(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;

    let reply = api.get("/reauthenticate").session(&tokens).await;

    assert_eq!(reply.ok(), json!({}));
    let mail = api.mail_to("ann@mail.dev").await;
    assert_eq!(mail.template(), "reauthentication");
    assert_eq!(mail.otp().len(), 6);
    let log = api.audit().await;
    assert_eq!(
        log.last().map(String::as_str),
        Some("user_reauthenticate_requested")
    );

    let anonymous = api.post("/signup", json!({})).await.ok();
    api.get("/reauthenticate")
        .session(&anonymous)
        .await
        .expect_error(400, "validation_failed");
    api.execute("update auth.users set email_confirmed_at = null")
        .await;
    api.get("/reauthenticate")
        .session(&tokens)
        .await
        .expect_error(422, "email_not_confirmed");
}

#[tokio::test]
async fn looking_at_what_sends_a_code_sends_none() {
    let api = Api::start(&[]).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;

    let call = api.call(http::Method::HEAD, "/reauthenticate");
    let reply = call.session(&tokens).await;

    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(api.mails().await.is_empty());
}
