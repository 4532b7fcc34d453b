//! `/admin/users/{id}/factors`

use serde_json::json;

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, claims};

fn path_of(session: &Value, factor: &Value) -> String {
    let text = |value: &Value| value.as_str().expect("an id").to_owned();
    let user = text(&session["user"]["id"]);
    format!("/admin/users/{user}/factors/{}", text(&factor["id"]))
}

#[tokio::test]
async fn factors_are_listed_as_an_array_without_secrets() {
    let (api, session) = ann(&[]).await;
    let (factor, raised) = with_app(&api, &session).await;
    let user = session["user"]["id"].as_str().expect("an id");

    let list = api.get(&format!("/admin/users/{user}/factors"));
    let list = list.service_role().await.ok();

    assert_eq!(list.as_array().map(Vec::len), Some(1));
    assert_eq!(list[0]["id"], factor["id"]);
    assert_eq!(list, raised["user"]["factors"]);
    assert!(
        !list
            .to_string()
            .contains(factor["totp"]["secret"].as_str().expect("it"))
    );
}

#[tokio::test]
async fn a_factor_is_renamed() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    enrol(&api, &session, "taken").await;
    let path = path_of(&session, &factor);

    let body = json!({ "friendly_name": "renamed", "phone": "15551234567" });
    let changed = api.put(&path, body).service_role().await.ok();

    assert_eq!(changed["friendly_name"], "renamed");
    assert_eq!(changed["phone"], "", "an app has no number");
    let audit = api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("factor_updated"));
    let reply = api.put(&path, json!({ "friendly_name": "taken" }));
    reply
        .service_role()
        .await
        .expect_error(422, "mfa_factor_name_conflict");
}

#[tokio::test]
async fn a_removed_factor_no_longer_counts() {
    let (api, session) = ann(&[]).await;
    let (factor, raised) = with_app(&api, &session).await;

    let reply = api.delete(&path_of(&session, &factor)).service_role().await;

    assert_eq!(reply.ok()["id"], factor["id"]);
    let audit = api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("factor_deleted"));
    let refreshed = refresh(&api, &raised).await.ok();
    let claims = claims(refreshed["access_token"].as_str().expect("a token"));
    assert_eq!(claims["aal"], "aal1");
    let again = api.delete(&path_of(&session, &factor)).service_role().await;
    again.expect_error(404, "mfa_factor_not_found");
}

#[tokio::test]
async fn only_administrators_may_and_only_what_exists() {
    let (api, session) = ann(&[]).await;
    let factor = enrol(&api, &session, "app").await;
    let path = path_of(&session, &factor);
    api.delete(&path)
        .session(&session)
        .await
        .expect_error(403, "not_admin");
    api.delete(&path)
        .await
        .expect_error(401, "no_authorization");
    let unknown_id = "00000000-0000-0000-0000-000000000001";
    for (path, code) in [
        ("/admin/users/x/factors".to_owned(), "validation_failed"),
        (
            format!("/admin/users/{unknown_id}/factors"),
            "user_not_found",
        ),
    ] {
        api.get(&path).service_role().await.expect_error(404, code);
    }
    let user = session["user"]["id"].as_str().expect("an id");
    for (path, code) in [
        (
            format!("/admin/users/{user}/factors/x"),
            "validation_failed",
        ),
        (
            format!("/admin/users/{user}/factors/{unknown_id}"),
            "mfa_factor_not_found",
        ),
        (
            format!("/admin/users/{unknown_id}/factors/{unknown_id}"),
            "user_not_found",
        ),
    ] {
        api.delete(&path)
            .service_role()
            .await
            .expect_error(404, code);
        api.put(&path, json!({}))
            .service_role()
            .await
            .expect_error(404, code);
    }
}
