//! `POST /factors`

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, Sql, sign};

#[tokio::test]
async fn an_app_gets_a_secret_a_uri_and_a_picture() {
    let (api, session) = ann(&[]).await;

    let factor = enrol(&api, &session, "phone app").await;

    let secret = factor["totp"]["secret"].as_str().expect("a secret");
    assert_eq!(
        BASE32_NOPAD.decode(secret.as_bytes()).map(|it| it.len()),
        Ok(20)
    );
    let picture = factor["totp"]["qr_code"].as_str().expect("a picture");
    assert!(picture.starts_with("<?xml") && picture.contains("<svg") && !picture.contains('#'));
    assert_eq!(
        factor,
        json!({
            "id": factor["id"],
            "type": "totp",
            "friendly_name": "phone app",
            "totp": {
                "qr_code": picture,
                "secret": secret,
                "uri": format!(
                    "otpauth://totp/localhost%3A3000:ann@mail.dev?algorithm=SHA1&digits=6\
                     &issuer=localhost%3A3000&period=30&secret={secret}"
                ),
            },
        })
    );
    assert_eq!(
        api.audit().await.last().map(String::as_str),
        Some("factor_in_progress")
    );
    let user = api.get("/user").session(&session).await.ok();
    let listed = &user["factors"][0];
    assert_eq!(
        *listed,
        json!({
            "id": factor["id"],
            "created_at": listed["created_at"],
            "updated_at": listed["updated_at"],
            "status": "unverified",
            "friendly_name": "phone app",
            "factor_type": "totp",
            "phone": "",
            "last_challenged_at": null,
        })
    );
}

#[tokio::test]
async fn the_issuer_may_be_chosen_and_a_phone_number_stands_in_for_an_address() {
    let (api, _) = ann(&[("auth.sms.enable_signup", "true")]).await;
    let body = json!({ "phone": "15551234567", "password": PASSWORD, "phone_confirm": true });
    api.post("/admin/users", body.clone())
        .service_role()
        .await
        .ok();
    let session = api.post("/token?grant_type=password", body).await.ok();

    let body = json!({ "factor_type": "totp", "issuer": "My App" });
    let factor = api.post("/factors", body).session(&session).await.ok();

    let uri = factor["totp"]["uri"].as_str().expect("a URI");
    assert!(
        uri.starts_with("otpauth://totp/My%20App:15551234567?"),
        "{uri}"
    );
    let body = json!({ "factor_type": "totp", "issuer": "x".repeat(129), "friendly_name": "b" });
    let reply = api.post("/factors", body).session(&session).await;
    reply.expect_error(400, "validation_failed");
}

#[tokio::test]
async fn invalid_factors_are_rejected() {
    let (api, session) = ann(&[("auth.mfa.phone.enroll_enabled", "true")]).await;
    let rejected = async |body: Value, status, code| {
        let reply = api.post("/factors", body).session(&session).await;
        reply.expect_error(status, code);
    };
    rejected(json!({}), 400, "validation_failed").await;
    rejected(json!({ "factor_type": "sms" }), 400, "validation_failed").await;
    rejected(json!({ "factor_type": 1 }), 400, "bad_json").await;
    rejected(json!({ "factor_type": "phone" }), 400, "validation_failed").await;
    let bad = json!({ "factor_type": "phone", "phone": "0123" });
    rejected(bad, 400, "validation_failed").await;
    let key = json!({ "factor_type": "webauthn" });
    rejected(key, 422, "mfa_webauthn_enroll_not_enabled").await;
    assert_eq!(api.count("select count(*) from auth.mfa_factors").await, 0);

    let (api, session) = ann(&[("auth.mfa.totp.enroll_enabled", "false")]).await;
    for (kind, code) in [
        ("totp", "mfa_totp_enroll_not_enabled"),
        ("phone", "mfa_phone_enroll_not_enabled"),
    ] {
        let body = json!({ "factor_type": kind, "phone": "15551234567" });
        api.post("/factors", body)
            .session(&session)
            .await
            .expect_error(422, code);
    }
}

#[tokio::test]
async fn names_are_unique_also_where_there_is_none() {
    let (api, session) = ann(&[]).await;
    for name in ["app", ""] {
        enrol(&api, &session, name).await;
        let body = json!({ "factor_type": "totp", "friendly_name": name });
        let reply = api.post("/factors", body).session(&session).await;
        reply.expect_error(422, "mfa_factor_name_conflict");
    }
}

#[tokio::test]
async fn there_is_a_limit_that_many_at_once_cannot_pass() {
    let (api, session) = ann(&[("auth.mfa.max_enrolled_factors", "3")]).await;
    let enrolments = (0..8).map(|number| {
        let body = json!({ "factor_type": "totp", "friendly_name": number.to_string() });
        api.post("/factors", body).session(&session).into_future()
    });

    let replies = futures_util::future::join_all(enrolments).await;

    let (made, rejected): (Vec<_>, Vec<_>) = replies.iter().partition(|it| it.status == 200);
    assert_eq!(made.len(), 3);
    for reply in rejected {
        reply.expect_error(422, "too_many_enrolled_mfa_factors");
    }
}

#[tokio::test]
async fn an_unused_factor_is_replaceable_after_five_minutes() {
    let (api, session) = ann(&[("auth.mfa.max_enrolled_factors", "1")]).await;
    enrol(&api, &session, "old").await;
    api.advance(Duration::from_secs(301));

    let tried = enrol(&api, &session, "tried").await;
    challenge(&api, &session, &tried).await;
    api.advance(Duration::from_secs(301));

    let body = json!({ "factor_type": "totp", "friendly_name": "new" });
    let reply = api.post("/factors", body).session(&session).await;
    reply.expect_error(422, "too_many_enrolled_mfa_factors");
    assert_eq!(
        statuses(&api, &session).await,
        [("tried".into(), "unverified".into())]
    );
}

#[tokio::test]
async fn anonymous_people_and_tokens_without_session_have_no_factors() {
    let (api, session) = ann(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    let anonymous = api.post("/signup", json!({})).await.ok();
    let body = json!({ "factor_type": "totp" });
    let reply = api.post("/factors", body.clone()).session(&anonymous).await;
    reply.expect_error(403, "no_authorization");

    let token = sign(&json!({ "sub": session["user"]["id"], "role": "authenticated" }));
    let reply = api.post("/factors", body.clone()).bearer(&token).await;
    reply.expect_error(500, "unexpected_failure");
    api.post("/factors", body)
        .await
        .expect_error(401, "no_authorization");
}

#[tokio::test]
async fn a_second_factor_is_required_before_enrolling_another() {
    let (api, session) = ann(&[]).await;
    let (_, proven) = with_app(&api, &session).await;
    let only_password = sign_in(&api).await;

    let body = json!({ "factor_type": "totp", "friendly_name": "second" });
    let reply = api
        .post("/factors", body.clone())
        .session(&only_password)
        .await;
    reply.expect_error(403, "insufficient_aal");

    api.post("/factors", body).session(&proven).await.ok();
}
