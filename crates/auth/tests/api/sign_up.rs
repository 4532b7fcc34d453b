//! `POST /signup` (auth contract §2.2): its table of cases and its errors.

mod phone;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Requests, Sql, claims};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
const PASSWORD: &str = "correct horse";

fn ann() -> Value {
    json!({ "email": "Ann@Mail.dev", "password": PASSWORD, "data": { "nick": "ann" } })
}

#[tokio::test]
async fn a_new_account_that_must_be_confirmed_is_a_bare_user() {
    let api = Api::start(&[CONFIRM]).await;

    let user = api.post("/signup", ann()).await.ok();

    let id = user["id"].as_str().expect("an id");
    let said = json!({
        "nick": "ann", "sub": id, "email": "ann@mail.dev",
        "email_verified": false, "phone_verified": false,
    });
    assert_eq!(user["aud"], "authenticated");
    assert_eq!(user["role"], "authenticated");
    assert_eq!(user["email"], "ann@mail.dev");
    assert_eq!(user["phone"], "");
    assert_eq!(user["is_anonymous"], false);
    assert_eq!(user["user_metadata"], said);
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "email", "providers": ["email"] })
    );
    let identities = user["identities"].as_array().expect("a list");
    assert_eq!(identities.len(), 1);
    assert_eq!(identities[0]["id"], id);
    assert_eq!(identities[0]["identity_data"], said);
    assert!(user["confirmation_sent_at"].is_string(), "{user}");
    for absent in [
        "access_token",
        "email_confirmed_at",
        "confirmed_at",
        "last_sign_in_at",
        "factors",
        "new_email",
        "banned_until",
    ] {
        assert!(user.get(absent).is_none(), "{absent} of {user}");
    }
    assert_eq!(api.mail_to("ann@mail.dev").await.template(), "confirmation");
    assert_eq!(api.audit().await, ["user_confirmation_requested"]);
}

#[tokio::test]
async fn without_confirmations_signing_up_is_signing_in() {
    let api = Api::start(&[]).await;

    let reply = api.post("/signup", ann()).await;
    let tokens = reply.ok();

    assert_eq!(tokens["token_type"], "bearer");
    assert_eq!(tokens["expires_in"], 3600);
    assert_eq!(tokens["user"]["user_metadata"]["email_verified"], true);
    assert!(tokens["user"]["email_confirmed_at"].is_string());
    assert!(tokens["user"]["confirmed_at"].is_string());
    assert!(tokens["user"]["last_sign_in_at"].is_string());
    let claims = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(claims["sub"], tokens["user"]["id"]);
    assert_eq!(claims["aud"], "authenticated");
    assert_eq!(claims["role"], "authenticated");
    assert_eq!(claims["iss"], "http://api.test/auth/v1");
    assert_eq!(claims["aal"], "aal1");
    assert_eq!(claims["amr"][0]["method"], "password");
    assert_eq!(claims["email"], "ann@mail.dev");
    assert_eq!(claims["phone"], "");
    assert_eq!(claims["is_anonymous"], false);
    assert_eq!(claims["exp"], tokens["expires_at"]);
    assert_eq!(api.audit().await, ["user_signedup", "login"]);
    assert!(api.mails().await.is_empty());
}

#[tokio::test]
async fn responses_do_not_reveal_who_is_registered() {
    let confirm_numbers = ("auth.sms.enable_confirmations", "true");
    let api = Api::start(&[CONFIRM, confirm_numbers]).await;
    let first = api.post("/signup", ann()).await.ok();
    let code = api.mail_to("ann@mail.dev").await.otp();
    let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
    api.post("/verify", body).await.ok();
    let mails = api.mails().await.len();

    let again = api.post("/signup", ann()).await.ok();

    assert_ne!(again["id"], first["id"]);
    assert_eq!(again["identities"], json!([]));
    assert_eq!(again["role"], "");
    assert_eq!(again["user_metadata"], json!({ "nick": "ann" }));
    assert_eq!(again["created_at"], again["confirmation_sent_at"]);
    assert_eq!(api.mails().await.len(), mails, "nothing is sent");
    assert_eq!(api.count("select count(*) from auth.users").await, 1);
    let log = api.audit().await;
    assert_eq!(log.last().map(String::as_str), Some("user_repeated_signup"));
}

#[tokio::test]
async fn where_sign_ups_give_a_session_a_known_address_is_rejected() {
    let api = Api::start(&[]).await;
    api.post("/signup", ann()).await.ok();

    api.post("/signup", ann()).await.expect_error_text(
        422,
        "user_already_exists",
        "User already registered",
    );
}

#[tokio::test]
async fn an_unconfirmed_account_keeps_its_first_password_and_data() {
    let api = Api::start(&[CONFIRM, ("auth.email.max_frequency", "0s")]).await;
    let first = api.post("/signup", ann()).await.ok();

    let other = json!({
        "email": "ann@mail.dev", "password": "another one", "data": { "nick": "eve" },
    });
    let second = api.post("/signup", other).await.ok();

    assert_eq!(second["id"], first["id"]);
    assert_eq!(second["user_metadata"], first["user_metadata"]);
    assert_eq!(api.mails().await.len(), 2);
    let code = api.mail_to("ann@mail.dev").await.otp();
    let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
    api.post("/verify", body).await.ok();
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok();
}

#[tokio::test]
async fn confirmations_are_not_sent_twice_a_minute() {
    let api = Api::start(&[CONFIRM, ("auth.email.max_frequency", "60s")]).await;
    api.post("/signup", ann()).await.ok();

    let reply = api.post("/signup", ann()).await;

    reply.expect_error(429, "over_email_send_rate_limit");
    let text = reply.json()["message"].as_str().expect("text").to_owned();
    assert!(
        text.starts_with("For security purposes, you can only request this after "),
        "{text}"
    );
    api.advance(std::time::Duration::from_secs(61));
    api.post("/signup", ann()).await.ok();
}

/// The address may have been taken before confirmations were disabled.
#[tokio::test]
async fn an_unconfirmed_account_belongs_to_the_user_with_its_password() {
    let api = Api::start(&[]).await;
    api.post("/signup", ann()).await.ok();
    api.execute("update auth.users set email_confirmed_at = null")
        .await;

    let eve = json!({ "email": "ann@mail.dev", "password": "a guess" });
    api.post("/signup", eve)
        .await
        .expect_error(422, "user_already_exists");
    api.post("/signup", ann()).await.ok();
}

#[tokio::test]
async fn an_empty_body_creates_no_user() {
    let api = Api::start(&[("auth.enable_anonymous_sign_ins", "true")]).await;

    for body in ["", "  ", "null"] {
        let call = api.call(http::Method::POST, "/signup");
        let reply = call.body("application/json", body).await;
        reply.expect_error(400, "bad_json");
    }
    let bare = api.call(http::Method::POST, "/signup").await;

    bare.expect_error(400, "bad_json");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn anonymous_people_get_a_session_where_that_is_allowed() {
    let off = Api::start(&[]).await;
    off.post("/signup", json!({ "data": {} }))
        .await
        .expect_error(422, "anonymous_provider_disabled");

    let api = Api::start(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    let tokens = api
        .post("/signup", json!({ "data": { "x": 1 } }))
        .await
        .ok();

    let user = &tokens["user"];
    assert_eq!(user["is_anonymous"], true);
    assert_eq!(user["app_metadata"], json!({}));
    assert_eq!(user["user_metadata"], json!({ "x": 1 }));
    assert_eq!(user["identities"], json!([]));
    assert_eq!(user["email"], "");
    let claims = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(claims["is_anonymous"], true);
    assert_eq!(claims["amr"][0]["method"], "anonymous");
    assert!(api.audit().await.is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let api = Api::start(&[]).await;
    let cases = [
        (json!({ "email": "a@b.c" }), 400, "validation_failed"),
        (
            json!({ "email": "a@b.c", "phone": "123456", "password": PASSWORD }),
            400,
            "validation_failed",
        ),
        (
            json!({ "email": "no address", "password": PASSWORD }),
            400,
            "validation_failed",
        ),
        (
            json!({ "email": "a@b.c", "password": "short" }),
            422,
            "weak_password",
        ),
        (
            json!({ "email": "a@b.c", "password": "x".repeat(73) }),
            400,
            "validation_failed",
        ),
        (
            json!({ "email": "a@b.c", "password": PASSWORD, "channel": "pigeon" }),
            400,
            "validation_failed",
        ),
        (
            json!({ "email": "a@b.c", "password": PASSWORD, "code_challenge": "x" }),
            400,
            "validation_failed",
        ),
        (
            json!({ "phone": "15551234567", "password": PASSWORD }),
            400,
            "phone_provider_disabled",
        ),
        (json!({ "email": 1 }), 400, "bad_json"),
        (json!([]), 400, "bad_json"),
    ];
    for (body, status, code) in cases {
        api.post("/signup", body).await.expect_error(status, code);
    }
    let huge = json!({ "email": "a@b.c", "data": { "x": "y".repeat(1024 * 1024) } });
    api.post("/signup", huge)
        .await
        .expect_error(413, "request_entity_too_large");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn weak_passwords_come_with_their_reasons() {
    let api = Api::start(&[]).await;

    let reply = api
        .post("/signup", json!({ "email": "a@b.c", "password": "x" }))
        .await;

    reply.expect_error(422, "weak_password");
    assert_eq!(
        reply.json()["weak_password"],
        json!({ "reasons": ["length"] })
    );
}

#[tokio::test]
async fn a_key_of_the_project_is_needed() {
    let api = Api::start(&[]).await;

    api.post("/signup", ann())
        .without_key()
        .await
        .expect_error(401, "no_authorization");
}

#[tokio::test]
async fn no_user_signs_up_where_that_is_switched_off() {
    let api = Api::start(&[("auth.enable_signup", "false")]).await;

    api.post("/signup", ann())
        .await
        .expect_error(422, "signup_disabled");
}

#[tokio::test]
async fn a_users_own_trigger_decides_and_nothing_is_left_behind() {
    let api = Api::start(&[CONFIRM]).await;
    api.execute(
        "create function public.refuse() returns trigger language plpgsql as $$
           begin raise exception 'not you' using hint = 'ask somebody'; end $$;
         create trigger refuse after insert on auth.users
           for each row execute function public.refuse();",
    )
    .await;

    let dated = api.post("/signup", ann()).await;
    dated.expect_error_text(500, "unexpected_failure", "Database error saving new user");
    let old = api.post("/signup", ann()).old_version().await;
    assert_eq!(
        old.json(),
        json!({ "code": "P0001", "message": "not you", "hint": "ask somebody" })
    );
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
    assert!(api.mails().await.is_empty());
}

#[tokio::test]
async fn many_who_sign_up_at_once_with_one_address_get_one_account() {
    let api = Api::start(&[CONFIRM, ("auth.email.max_frequency", "0s")]).await;

    let calls = (0..8).map(|_| async { api.post("/signup", ann()).await.status });
    let statuses = futures_util::future::join_all(calls).await;

    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    assert_eq!(api.count("select count(*) from auth.users").await, 1);
    assert_eq!(api.count("select count(*) from auth.identities").await, 1);
}

/// Metadata of the invitation must not be visible to strangers.
#[tokio::test]
async fn signing_up_with_an_invited_address_reveals_nothing() {
    let api = Api::start(&[CONFIRM, ("auth.email.max_frequency", "0s")]).await;
    let body = json!({ "email": "ann@mail.dev", "data": { "salary": 1 } });
    let invited = api.post("/invite", body).service_role().await.ok();

    let user = api.post("/signup", ann()).await.ok();

    assert_eq!(user["id"], invited["id"]);
    assert_eq!(user["user_metadata"], json!({}));
    assert_eq!(user["identities"], json!([]));
    assert_eq!(api.mail_to("ann@mail.dev").await.template(), "confirmation");
    let kept = "select raw_user_meta_data from auth.users";
    assert_eq!(api.value(kept, &[]).await, json!({ "salary": 1 }));
}

#[tokio::test]
async fn addresses_neither_sign_up_nor_in_where_they_are_switched_off() {
    let api = Api::start(&[("auth.email.enable_signup", "false")]).await;

    api.post("/signup", ann()).await.expect_error_text(
        400,
        "email_provider_disabled",
        "Email signups are disabled",
    );
    api.post("/token?grant_type=password", ann())
        .await
        .expect_error(422, "email_provider_disabled");
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}
