//! Captchas (auth contract §8.2): which requests need one, and which provider checks it.

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Remote, Requests};

const PASSWORD: &str = "correct horse";

async fn guarded(remote: &Remote, provider: &str) -> Api {
    Api::start(&[
        ("auth.captcha.enabled", "true"),
        ("auth.captcha.provider", provider),
        ("auth.captcha.secret", "the secret"),
        ("plinth.auth.captcha.url", &remote.url),
        ("plinth.auth.captcha.timeout", "10s"),
        ("auth.passkey.enabled", "true"),
    ])
    .await
}

fn with_token(mut body: Value, token: &str) -> Value {
    body["gotrue_meta_security"] = json!({ "captcha_token": token });
    body
}

fn ann() -> Value {
    json!({ "email": "ann@mail.dev", "password": PASSWORD })
}

#[tokio::test]
async fn the_provider_decides() {
    for provider in ["hcaptcha", "turnstile"] {
        let remote = Remote::start(200, r#"{"success":true}"#).await;
        let api = guarded(&remote, provider).await;

        let signed_up = api.post("/signup", with_token(ann(), " shown "));
        signed_up.client_ip("192.0.2.7").await.ok();

        let form = remote.received()[0].form();
        let expected = [
            ("secret", "the secret"),
            ("response", "shown"),
            ("remoteip", "192.0.2.7"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(form, expected);

        let verdict = r#"{"success":false,"error-codes":["invalid-input-response","expired"]}"#;
        remote.set_response(200, "application/json", verdict);
        let reply = api.post("/signup", with_token(ann(), "wrong")).await;
        let text = "captcha protection: request disallowed (invalid-input-response, expired)";
        reply.expect_error_text(400, "captcha_failed", text);
    }
}

#[tokio::test]
async fn guarded_requests_need_a_token() {
    let remote = Remote::start(200, r#"{"success":true}"#).await;
    let api = guarded(&remote, "hcaptcha").await;

    for path in [
        "/signup",
        "/otp",
        "/magiclink",
        "/recover",
        "/resend",
        "/token?grant_type=password",
        "/passkeys/authentication/options",
    ] {
        for body in [ann(), with_token(ann(), "  ")] {
            let reply = api.post(path, body).await;
            let text = "captcha protection: request disallowed (no captcha_token found)";
            reply.expect_error_text(400, "captcha_failed", text);
        }
    }
    assert!(remote.received().is_empty(), "no request was sent");
}

#[tokio::test]
async fn other_requests_need_none() {
    let remote = Remote::start(200, r#"{"success":true}"#).await;
    let api = guarded(&remote, "hcaptcha").await;
    let tokens = api.post("/signup", with_token(ann(), "good")).await.ok();

    let refresh = json!({ "refresh_token": tokens["refresh_token"] });
    api.post("/token?grant_type=refresh_token", refresh)
        .await
        .ok();
    let verify = json!({ "type": "email", "email": "ann@mail.dev", "token": "123456" });
    let reply = api.post("/verify", verify).await;
    reply.expect_error(403, "otp_expired");
}

#[tokio::test]
async fn administrators_are_spared() {
    let remote = Remote::start(200, r#"{"success":false}"#).await;
    let api = guarded(&remote, "hcaptcha").await;

    api.post("/signup", ann()).service_role().await.ok();

    assert!(remote.received().is_empty());
}

#[tokio::test]
async fn a_provider_out_of_reach_is_our_failure() {
    let remote = Remote::start(200, "<html>").await;
    let api = guarded(&remote, "turnstile").await;

    let unreadable = api.post("/signup", with_token(ann(), "good")).await;
    unreadable.expect_error(500, "unexpected_failure");
    drop(remote);
    let unreachable = api.post("/signup", with_token(ann(), "good")).await;
    unreachable.expect_error(500, "unexpected_failure");
}
