//! What a user with a second factor can do at aal1, and for how long.

use std::time::Duration;

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, Sql, claims};

const TEN_MINUTES: (&str, &str) = ("plinth.auth.sessions.allow_low_aal", "10m");

fn token_claims(session: &Value) -> Value {
    claims(session["access_token"].as_str().expect("a token"))
}

fn lifetime(session: &Value) -> i64 {
    let claims = token_claims(session);
    let number = |name: &str| claims[name].as_i64().expect("a number");
    assert_eq!(session["expires_in"], number("exp") - number("iat"));
    number("exp") - number("iat")
}

#[tokio::test]
async fn a_session_without_the_factor_is_over_soon() {
    let (api, session) = ann(&[TEN_MINUTES]).await;
    assert_eq!(lifetime(&session), 3600, "there is no factor yet");
    let (_, raised) = with_app(&api, &session).await;
    assert_eq!(lifetime(&raised), 3600);

    let low = sign_in(&api).await;
    assert_eq!(lifetime(&low), 600);
    api.advance(Duration::from_secs(400));
    let low = refresh(&api, &low).await.ok();
    assert_eq!(lifetime(&low), 200, "counted from when it began");
    api.advance(Duration::from_secs(201));

    refresh(&api, &low).await.expect_error_text(
        400,
        "session_expired",
        "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)",
    );
    let raised = refresh(&api, &raised).await.ok();
    assert_eq!(token_claims(&raised)["aal"], "aal2");
}

#[tokio::test]
async fn those_without_a_factor_have_all_the_time() {
    let (api, session) = ann(&[TEN_MINUTES]).await;
    enrol(&api, &session, "never confirmed").await;
    api.advance(Duration::from_secs(3000));

    let session = refresh(&api, &session).await.ok();

    assert_eq!(lifetime(&session), 3600);
}

#[tokio::test]
async fn devices_and_the_account_are_out_of_reach_without_it() {
    let (api, session) = ann(&[]).await;
    let (_, raised) = with_app(&api, &session).await;
    let low = sign_in(&api).await;
    let id = token_claims(&low)["session_id"].clone();
    let device = format!("/user/sessions/{}", id.as_str().expect("an id"));

    for call in [
        api.get("/user/sessions"),
        api.delete(&device),
        api.delete("/user"),
    ] {
        call.session(&low)
            .await
            .expect_error(403, "insufficient_aal");
    }

    assert_eq!(api.count("select count(*) from auth.sessions").await, 2);
    let list = api.get("/user/sessions").session(&raised).await.ok();
    assert_eq!(list.as_array().map(Vec::len), Some(2));
    for (path, written) in [(device.as_str(), "logout"), ("/user", "user_deleted")] {
        let reply = api.delete(path).session(&raised).await;
        assert_eq!(reply.status, 204, "{reply:?}");
        let log = api.audit().await;
        assert_eq!(log.last().map(String::as_str), Some(written));
    }
    assert_eq!(api.count("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn neither_address_nor_number_nor_password_can_be_changed_without_it() {
    let (api, session) = ann(&[]).await;
    with_app(&api, &session).await;
    let low = sign_in(&api).await;

    for body in [
        json!({ "email": "new@mail.dev" }),
        json!({ "phone": "15551234567" }),
        json!({ "password": "battery staple" }),
    ] {
        let reply = api.put("/user", body).session(&low).await;
        reply.expect_error(401, "insufficient_aal");
    }

    let same = json!({ "email": "ann@mail.dev", "data": { "nick": "a" } });
    let user = api.put("/user", same).session(&low).await.ok();
    assert_eq!(user["email"], "ann@mail.dev");
    assert!(user.get("new_email").is_none());
    assert_eq!(user["phone"], "");
}

#[tokio::test]
async fn a_newer_session_that_lacks_it_too_long_ends_no_other() {
    let single = ("plinth.auth.sessions.single_per_user", "true");
    let (api, session) = ann(&[TEN_MINUTES, single]).await;
    let (_, raised) = with_app(&api, &session).await;
    api.advance(Duration::from_secs(60));
    sign_in(&api).await;

    let reply = refresh(&api, &raised).await;
    reply.expect_error(400, "session_expired");
    api.advance(Duration::from_secs(601));
    refresh(&api, &raised).await.ok();
}

/// Verifying creates a new refresh token without a refresh.
#[tokio::test]
async fn a_session_is_in_use_when_it_sees_the_factor() {
    let idle = ("auth.sessions.inactivity_timeout", "1h");
    let (api, session) = ann(&[idle]).await;
    api.advance(Duration::from_secs(50 * 60));
    let (_, raised) = with_app(&api, &session).await;
    api.advance(Duration::from_secs(50 * 60));

    refresh(&api, &raised).await.ok();
}

#[tokio::test]
async fn only_the_own_session_can_be_signed_out_without_it() {
    let (api, session) = ann(&[]).await;
    let (_, raised) = with_app(&api, &session).await;
    let low = sign_in(&api).await;
    let logout = async |session: &Value, scope: &str| {
        let path = format!("/logout?scope={scope}");
        api.post(&path, json!({})).session(session).await
    };

    // supabase-js ignores 401, 403 and 404 here.
    logout(&low, "others")
        .await
        .expect_error(422, "insufficient_aal");
    logout(&low, "everywhere")
        .await
        .expect_error(400, "validation_failed");
    api.get("/user").session(&low).await.ok();
    for scope in ["global", ""] {
        let low = sign_in(&api).await;
        assert_eq!(logout(&low, scope).await.status, 204);

        let ended = api.get("/user").session(&low).await;
        ended.expect_error(403, "session_not_found");
        api.get("/user").session(&raised).await.ok();
    }

    // A token of no session cannot have proven it.
    let token = crate::support::sign(&json!({
        "sub": raised["user"]["id"], "role": "authenticated", "aud": "authenticated",
        "exp": api.now().unix_timestamp() + 60,
    }));
    let reply = api.post("/logout", json!({})).bearer(&token).await;
    reply.expect_error(422, "insufficient_aal");

    assert_eq!(logout(&raised, "others").await.status, 204);
    let ended = api.get("/user").session(&low).await;
    ended.expect_error(403, "session_not_found");
    api.get("/user").session(&raised).await.ok();
}
