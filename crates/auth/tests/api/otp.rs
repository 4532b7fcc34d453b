//! `POST /otp` and `POST /magiclink` (auth contract §2.4).

use serde_json::{Value, json};

use crate::support::{Api, AuthReply, Requests, Sql, USUAL_HASHES, claims};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
const OFTEN: (&str, &str) = ("auth.email.max_frequency", "0s");

async fn verify(api: &Api, kind: &str, email: &str, code: &str) -> crate::support::Reply {
    let body = json!({ "type": kind, "email": email, "token": code });
    api.post("/verify", body).await
}

#[tokio::test]
async fn an_unknown_user_gets_an_account_and_signs_in_by_confirming_it() {
    let api = Api::start(&[CONFIRM]).await;

    let body = json!({ "email": "ann@mail.dev", "data": { "nick": "ann" } });
    assert_eq!(api.post("/otp", body).await.ok(), json!({}));

    let mail = api.mail_to("ann@mail.dev").await;
    assert_eq!(mail.template(), "confirmation");
    let tokens = verify(&api, "email", "ann@mail.dev", &mail.otp())
        .await
        .ok();
    assert_eq!(tokens["user"]["user_metadata"]["nick"], "ann");
    assert_eq!(tokens["user"]["user_metadata"]["email_verified"], true);
    let claims = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(claims["amr"][0]["method"], "otp");
}

/// The usual cost would make the response for new users measurably slower.
#[tokio::test]
async fn the_random_password_of_a_new_user_is_hashed_cheaply() {
    let api = Api::start(&[CONFIRM, USUAL_HASHES]).await;

    api.post("/otp", json!({ "email": "ann@mail.dev" }))
        .await
        .ok();

    let sql = "select to_jsonb(encrypted_password) from auth.users";
    let stored: Value = api.value(sql, &[]).await;
    let stored = stored.as_str().expect("a hash");
    assert!(stored.starts_with("$2a$04$"), "{stored}");
}

#[tokio::test]
async fn a_confirmed_user_gets_a_magic_link() {
    let api = Api::start(&[OFTEN]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;

    for path in ["/otp", "/magiclink"] {
        let reply = api.post(path, json!({ "email": "Ann@mail.dev" })).await;
        assert_eq!(reply.ok(), json!({}));
        let mail = api.mail_to("ann@mail.dev").await;
        assert_eq!(mail.template(), "magic_link");
        verify(&api, "magiclink", "ann@mail.dev", &mail.otp())
            .await
            .ok();
    }
    let log = api.audit().await;
    assert!(
        log.contains(&"user_recovery_requested".to_owned()),
        "{log:?}"
    );
}

#[tokio::test]
async fn without_confirmations_the_account_is_made_and_a_link_sent() {
    let api = Api::start(&[]).await;

    api.post("/otp", json!({ "email": "ann@mail.dev" }))
        .await
        .ok();

    let mail = api.mail_to("ann@mail.dev").await;
    assert_eq!(mail.template(), "magic_link");
    verify(&api, "email", "ann@mail.dev", &mail.otp())
        .await
        .ok();
}

#[tokio::test]
async fn no_user_is_created_without_a_delivered_message() {
    for confirm in ["false", "true"] {
        let api = Api::start(&[
            ("auth.email.enable_confirmations", confirm),
            ("auth.rate_limit.email_sent", "0"),
        ])
        .await;
        for path in ["/otp", "/magiclink"] {
            let reply = api.post(path, json!({ "email": "ann@mail.dev" })).await;
            reply.expect_error(429, "over_email_send_rate_limit");
            assert_eq!(api.count("select count(*) from auth.users").await, 0);
        }
    }
}

#[tokio::test]
async fn no_user_is_created_where_that_is_not_wanted() {
    let api = Api::start(&[]).await;

    let body = json!({ "email": "ann@mail.dev", "create_user": false });
    api.post("/otp", body).await.expect_error_text(
        422,
        "otp_disabled",
        "Signups not allowed for otp",
    );
    assert_eq!(api.count("select count(*) from auth.users").await, 0);

    let api = Api::start(&[("auth.enable_signup", "false")]).await;
    api.post("/otp", json!({ "email": "ann@mail.dev" }))
        .await
        .expect_error(422, "signup_disabled");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let api = Api::start(&[]).await;
    let cases: [(Value, u16, &str); 6] = [
        (json!({}), 400, "validation_failed"),
        (
            json!({ "email": "a@b.c", "phone": "123456" }),
            400,
            "validation_failed",
        ),
        (
            json!({ "email": "a@b.c", "channel": "sms" }),
            400,
            "validation_failed",
        ),
        (json!({ "email": "nobody" }), 400, "validation_failed"),
        (
            json!({ "phone": "15551234567" }),
            400,
            "phone_provider_disabled",
        ),
        (
            json!({ "email": "a@b.c", "code_challenge": "x", "code_challenge_method": "md5" }),
            400,
            "validation_failed",
        ),
    ];
    for (body, status, code) in cases {
        api.post("/otp", body).await.expect_error(status, code);
    }
    let off = Api::start(&[("auth.email.enable_signup", "false")]).await;
    off.post("/otp", json!({ "email": "a@b.c" }))
        .await
        .expect_error(422, "email_provider_disabled");
}

#[tokio::test]
async fn links_may_be_switched_off_while_passwords_stay() {
    let api = Api::start(&[("plinth.auth.email.magic_link", "false")]).await;
    api.sign_up("ann@mail.dev", "correct horse").await;
    let body = json!({ "email": "ann@mail.dev" });

    for path in ["/otp", "/magiclink"] {
        let reply = api.post(path, body.clone()).await;
        reply.expect_error(422, "email_provider_disabled");
    }
    assert!(api.mails().await.is_empty());
    api.post("/recover", body).await.ok();
    assert_eq!(api.mail_to("ann@mail.dev").await.template(), "recovery");
}
