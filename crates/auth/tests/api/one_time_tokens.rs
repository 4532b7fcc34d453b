//! Attacks on one-time tokens: guessing, replaying, using old ones, and using another's.

use std::time::Duration;

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
const OFTEN: (&str, &str) = ("auth.email.max_frequency", "0s");
const MANY_ATTEMPTS: (&str, &str) = ("auth.rate_limit.token_verifications", "1000");

async fn with_pending_sign_up(settings: &[(&str, &str)]) -> Api {
    let api = Api::start(settings).await;
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();
    api
}

async fn verify(api: &Api, code: &str) -> Reply {
    let body = json!({ "type": "signup", "email": "ann@mail.dev", "token": code });
    api.post("/verify", body).await
}

fn other_than(code: &str) -> String {
    match code.strip_prefix('0') {
        Some(rest) => format!("1{rest}"),
        None => format!("0{}", &code[1..]),
    }
}

#[tokio::test]
async fn ten_wrong_codes_make_the_token_void() {
    let api = with_pending_sign_up(&[CONFIRM, OFTEN, MANY_ATTEMPTS]).await;
    let mail = api.mail_to("ann@mail.dev").await;
    let wrong = other_than(&mail.otp());
    for _ in 0..9 {
        verify(&api, &wrong).await.expect_error(403, "otp_expired");
    }
    // Nine wrong codes are allowed, and the right one still works.
    let stored = "select count(*) from auth.one_time_tokens";
    assert_eq!(api.count(stored).await, 1);

    verify(&api, &wrong).await.expect_error_text(
        403,
        "otp_expired",
        "Token has expired or is invalid",
    );

    assert_eq!(api.count(stored).await, 0);
    verify(&api, &mail.otp())
        .await
        .expect_error(403, "otp_expired");
    let link = api.get(&mail.link()).without_key().await;
    assert!(link.location().contains("otp_expired"), "{link:?}");

    // A new token starts a new count.
    api.post(
        "/resend",
        json!({ "type": "signup", "email": "ann@mail.dev" }),
    )
    .await
    .ok();
    let code = api.mail_to("ann@mail.dev").await.otp();
    verify(&api, &code).await.ok();
}

/// The limit holds across several servers.
#[tokio::test]
async fn a_restart_forgives_nothing() {
    let settings = [CONFIRM, MANY_ATTEMPTS];
    let api = with_pending_sign_up(&settings).await;
    let right = api.mail_to("ann@mail.dev").await.otp();
    let wrong = other_than(&right);
    for _ in 0..5 {
        verify(&api, &wrong).await.expect_error(403, "otp_expired");
    }

    let api = api.restarted(&settings);
    for _ in 0..5 {
        verify(&api, &wrong).await.expect_error(403, "otp_expired");
    }

    verify(&api, &right).await.expect_error(403, "otp_expired");
    let stored = "select count(*) from auth.one_time_tokens";
    assert_eq!(api.count(stored).await, 0);
}

#[tokio::test]
async fn guessing_many_at_once_gets_no_further() {
    let api = with_pending_sign_up(&[CONFIRM, MANY_ATTEMPTS]).await;
    let right = api.mail_to("ann@mail.dev").await.otp();
    let codes: Vec<String> = (0..29).map(|_| other_than(&right)).collect();

    let calls = codes.iter().map(|code| verify(&api, code));
    for reply in futures_util::future::join_all(calls).await {
        reply.expect_error(403, "otp_expired");
    }

    verify(&api, &right).await.expect_error(403, "otp_expired");
}

#[tokio::test]
async fn a_code_works_once_and_so_does_a_link() {
    let api = with_pending_sign_up(&[CONFIRM]).await;
    let mail = api.mail_to("ann@mail.dev").await;

    let code = mail.otp();
    let calls = (0..5).map(|_| verify(&api, &code));
    let replies = futures_util::future::join_all(calls).await;

    let successes = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(successes, 1);
    assert_eq!(api.count("select count(*) from auth.sessions").await, 1);
    let link = api.get(&mail.link()).without_key().await;
    assert_eq!(link.status, 303);
    assert!(link.location().contains("error_code=otp_expired"));
}

#[tokio::test]
async fn tokens_grow_old() {
    let api = with_pending_sign_up(&[CONFIRM, ("auth.email.otp_expiry", "600")]).await;
    let mail = api.mail_to("ann@mail.dev").await;
    api.advance(Duration::from_secs(601));

    verify(&api, &mail.otp())
        .await
        .expect_error(403, "otp_expired");
    let body = json!({ "type": "signup", "token_hash": mail.token_hash() });
    api.post("/verify", body)
        .await
        .expect_error(403, "otp_expired");
}

#[tokio::test]
async fn the_newest_mail_counts() {
    let api = with_pending_sign_up(&[CONFIRM, OFTEN]).await;
    let first = api.mail_to("ann@mail.dev").await;
    api.post(
        "/resend",
        json!({ "type": "signup", "email": "ann@mail.dev" }),
    )
    .await
    .ok();

    let body = json!({ "type": "signup", "token_hash": first.token_hash() });
    api.post("/verify", body)
        .await
        .expect_error(403, "otp_expired");
    let second = api.mail_to("ann@mail.dev").await;
    verify(&api, &second.otp()).await.ok();
}

#[tokio::test]
async fn digits_are_those_of_one_address() {
    let api = with_pending_sign_up(&[CONFIRM]).await;
    let body = json!({ "email": "eve@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();
    let code = api.mail_to("eve@mail.dev").await.otp();
    let ann = api.mail_to("ann@mail.dev").await.otp();
    assert_ne!(code, ann, "one in a million");

    verify(&api, &code).await.expect_error(403, "otp_expired");
}

#[tokio::test]
async fn a_token_serves_its_own_purpose_only() {
    let api = with_pending_sign_up(&[CONFIRM]).await;
    let mail = api.mail_to("ann@mail.dev").await;
    for kind in ["recovery", "magiclink", "email_change"] {
        let body = json!({ "type": kind, "token_hash": mail.token_hash() });
        api.post("/verify", body)
            .await
            .expect_error(403, "otp_expired");
    }
}

#[tokio::test]
async fn nothing_that_is_stored_opens_the_account() {
    let api = with_pending_sign_up(&[CONFIRM]).await;
    let mail = api.mail_to("ann@mail.dev").await;
    let stored = api
        .value("select to_jsonb(confirmation_token) from auth.users", &[])
        .await;
    assert_ne!(stored, mail.otp());
    let stored = stored.as_str().expect("text").to_owned();
    verify(&api, &stored).await.expect_error(403, "otp_expired");
    // The hash in the link is stored, but it cannot be computed from the code.
    let link = api.link_token("confirmation_token").await;
    verify(&api, &link).await.expect_error(403, "otp_expired");
}

/// An attacker who knows the address must not be able to try codes as links.
#[tokio::test]
async fn a_link_cannot_be_made_from_address_and_digits() {
    let api = with_pending_sign_up(&[CONFIRM]).await;
    let mail = api.mail_to("ann@mail.dev").await;
    let text = format!("ann@mail.dev{}", mail.otp());
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA224, text.as_bytes());
    let guessed = data_encoding::HEXLOWER.encode(digest.as_ref());

    let body = json!({ "type": "signup", "token_hash": guessed });
    api.post("/verify", body)
        .await
        .expect_error(403, "otp_expired");
    let link = format!("/verify?type=signup&token={guessed}");
    let reply = api.get(&link).without_key().await;
    assert!(reply.location().contains("error_code=otp_expired"));
    assert_ne!(mail.token_hash(), guessed);
    assert_eq!(mail.token_hash().len(), guessed.len());
    let body = json!({ "type": "signup", "token_hash": mail.token_hash() });
    api.post("/verify", body).await.ok();
}

/// Also with rows that GoTrue wrote, in which the two are the same.
#[tokio::test]
async fn a_code_for_a_telephone_confirms_no_address() {
    let api = with_pending_sign_up(&[CONFIRM]).await;
    let link = api.link_token("confirmation_token").await;
    api.execute("update auth.one_time_tokens set relates_to = '15551234567'")
        .await;

    for kind in ["signup", "email", "invite"] {
        let body = json!({ "type": kind, "token_hash": link });
        api.post("/verify", body)
            .await
            .expect_error(403, "otp_expired");
    }
    let confirmed = "select count(*) from auth.users where email_confirmed_at is not null";
    assert_eq!(api.count(confirmed).await, 0);
}
