//! Sign-up by phone.

use std::time::Duration;

use super::*;
use crate::support::{AuthReply, Requests, Sql, TextServer};

const CONFIRM_NUMBERS: (&str, &str) = ("auth.sms.enable_confirmations", "true");
const PHONE: &str = "15551234567";

fn ann_by_phone() -> Value {
    json!({ "phone": "+1 555 123 4567", "password": PASSWORD, "data": { "nick": "ann" } })
}

#[tokio::test]
async fn without_confirmations_signing_up_is_signing_in() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&[])).await;

    let tokens = api.post("/signup", ann_by_phone()).await.ok();

    let user = &tokens["user"];
    assert_eq!(user["phone"], PHONE);
    assert_eq!(user["email"], "");
    assert!(user["phone_confirmed_at"].is_string());
    assert!(user.get("email_confirmed_at").is_none());
    assert_eq!(user["user_metadata"]["phone_verified"], true);
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "phone", "providers": ["phone"] })
    );
    let claims = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(claims["phone"], PHONE);
    assert_eq!(claims["amr"][0]["method"], "password");
    assert_eq!(api.audit().await, ["user_signedup", "login"]);
    assert!(texts.sent().is_empty());
    let body = json!({ "phone": "+15551234567", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok();
}

#[tokio::test]
async fn a_number_that_must_be_confirmed_gets_a_code() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&[CONFIRM, CONFIRM_NUMBERS])).await;

    let user = api.post("/signup", ann_by_phone()).await.ok();

    assert!(user.get("access_token").is_none() && user.get("phone_confirmed_at").is_none());
    assert!(user["confirmation_sent_at"].is_string());
    let password = json!({ "phone": PHONE, "password": PASSWORD });
    let sign_in = || api.post("/token?grant_type=password", password.clone());
    sign_in().await.expect_error(400, "phone_not_confirmed");
    let body = json!({ "type": "sms", "phone": PHONE, "token": texts.code_to(PHONE) });
    let tokens = api.post("/verify", body).await.ok();
    assert_eq!(tokens["user"]["id"], user["id"]);
    sign_in().await.ok();
}

#[tokio::test]
async fn an_unconfirmed_number_gets_another_code_for_the_same_account() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&[CONFIRM, CONFIRM_NUMBERS])).await;
    let first = api.post("/signup", ann_by_phone()).await.ok();

    let soon = api.post("/signup", ann_by_phone()).await;
    soon.expect_error(429, "over_sms_send_rate_limit");
    api.advance(Duration::from_secs(6));
    let mut other = ann_by_phone();
    other["data"] = json!({ "nick": "eve" });
    let second = api.post("/signup", other).await.ok();

    assert_eq!(second["id"], first["id"]);
    assert_eq!(second["user_metadata"], first["user_metadata"]);
    assert_eq!(texts.sent().len(), 2);
}

#[tokio::test]
async fn responses_do_not_reveal_which_phone_numbers_are_registered() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&[CONFIRM, CONFIRM_NUMBERS])).await;
    let first = api.post("/signup", ann_by_phone()).await.ok();
    let body = json!({ "type": "sms", "phone": PHONE, "token": texts.code_to(PHONE) });
    api.post("/verify", body).await.ok();

    let again = api.post("/signup", ann_by_phone()).await.ok();

    assert_ne!(again["id"], first["id"]);
    assert_eq!(again["identities"], json!([]));
    assert_eq!(again["phone"], PHONE);
    assert_eq!(again["email"], "");
    assert_eq!(again["user_metadata"], json!({ "nick": "ann" }));
    assert_eq!(
        again["app_metadata"],
        json!({ "provider": "phone", "providers": ["phone"] })
    );
    assert_eq!(texts.sent().len(), 1, "nothing is sent");
    assert_eq!(api.count("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn where_sign_ups_give_a_session_a_known_number_is_rejected() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&[])).await;
    api.post("/signup", ann_by_phone()).await.ok();

    api.post("/signup", ann_by_phone())
        .await
        .expect_error(422, "user_already_exists");
}

/// Without a link there is no PKCE flow.
#[tokio::test]
async fn numbers_have_no_flow_that_ends_in_a_code_exchange() {
    let texts = TextServer::start().await;
    let api = Api::start(&texts.settings(&[CONFIRM_NUMBERS])).await;
    let mut body = ann_by_phone();
    body["code_challenge"] = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM".into();
    body["code_challenge_method"] = "s256".into();

    api.post("/signup", body)
        .await
        .expect_error(400, "validation_failed");

    assert!(texts.sent().is_empty());
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}
