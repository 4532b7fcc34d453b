//! `DELETE /factors/{id}`

use serde_json::json;

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, Sql, claims};

#[tokio::test]
async fn removing_a_factor_takes_it_from_the_session() {
    let notice = (
        "auth.email.notification.mfa_factor_unenrolled.enabled",
        "true",
    );
    let (api, session) = ann(&[notice]).await;
    let (factor, raised) = with_app(&api, &session).await;

    let reply = api.delete(&path(&factor, "")).session(&raised).await;

    assert_eq!(reply.ok(), json!({ "id": factor["id"] }));
    let audit = api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("factor_unenrolled"));
    assert_eq!(api.mails().await.len(), 1);
    let refreshed = refresh(&api, &raised).await.ok();
    let claims = claims(refreshed["access_token"].as_str().expect("a token"));
    assert_eq!(claims["aal"], "aal1");
    assert_eq!(claims["amr"].as_array().map(Vec::len), Some(1));
    assert_eq!(claims["amr"][0]["method"], "password");
    assert!(refreshed["user"].get("factors").is_none());
    let reply = api.delete(&path(&factor, "")).session(&refreshed).await;
    reply.expect_error(404, "mfa_factor_not_found");
}

#[tokio::test]
async fn only_who_proved_a_factor_may_remove_a_confirmed_one() {
    let (api, session) = ann(&[]).await;
    let (factor, _) = with_app(&api, &session).await;
    let only_password = sign_in(&api).await;

    let reply = api.delete(&path(&factor, "")).session(&only_password).await;

    reply.expect_error(422, "insufficient_aal");
    assert_eq!(api.count("select count(*) from auth.mfa_factors").await, 1);
}

#[tokio::test]
async fn an_unconfirmed_factor_may_always_go() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;

    api.delete(&path(&factor, "")).session(&session).await.ok();

    let reply = api.delete("/factors/x").session(&session).await;
    reply.expect_error(404, "validation_failed");
}
