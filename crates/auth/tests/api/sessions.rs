//! How long sessions last (auth contract §3.4).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql, claims};

const SINGLE: (&str, &str) = ("plinth.auth.sessions.single_per_user", "true");
const PASSWORD: &str = "correct horse";

async fn sign_in(api: &Api) -> Value {
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok()
}

async fn refresh(api: &Api, tokens: &Value) -> Reply {
    let body = json!({ "refresh_token": tokens["refresh_token"] });
    api.post("/token?grant_type=refresh_token", body).await
}

#[track_caller]
fn is_revoked_by_newer(reply: &Reply) {
    reply.expect_error_text(
        400,
        "session_expired",
        "Invalid Refresh Token: Session Expired (Revoked by Newer Login)",
    );
}

#[tokio::test]
async fn where_people_have_one_session_the_older_ends_at_its_next_refresh() {
    let api = Api::start(&[SINGLE]).await;
    let older = api.sign_up("ann@mail.dev", PASSWORD).await;
    let newer = sign_in(&api).await;
    api.sign_up("eve@mail.dev", PASSWORD).await;

    // Signing in alone ends no session.
    api.get("/user").session(&older).await.ok();
    assert_eq!(api.count("select count(*) from auth.sessions").await, 3);

    is_revoked_by_newer(&refresh(&api, &older).await);
    refresh(&api, &newer).await.ok();
}

#[tokio::test]
async fn a_newer_session_that_is_over_itself_ends_no_other() {
    let api = Api::start(&[SINGLE]).await;
    let older = api.sign_up("ann@mail.dev", PASSWORD).await;
    let newer = sign_in(&api).await;
    let id = session_id(&newer);
    api.execute(&format!(
        "update auth.sessions set not_after = created_at where id = '{id}'"
    ))
    .await;

    refresh(&api, &older).await.ok();
}

#[tokio::test]
async fn sessions_of_another_tag_do_not_count() {
    let api = Api::start(&[SINGLE, ("plinth.auth.sessions.tags", "web,app")]).await;
    let app = api.sign_up("ann@mail.dev", PASSWORD).await;
    let tag = "select to_jsonb(tag) from auth.sessions";
    assert_eq!(api.value(tag, &[]).await, "web", "the first one");
    api.execute("update auth.sessions set tag = 'app'").await;
    let web = sign_in(&api).await;

    let app = refresh(&api, &app).await.ok();
    let web = refresh(&api, &web).await.ok();

    sign_in(&api).await;
    is_revoked_by_newer(&refresh(&api, &web).await);
    refresh(&api, &app).await.ok();
}

/// As SSO may set it.
#[tokio::test]
async fn a_session_ends_at_the_identity_providers_limit() {
    let api = Api::start(&[]).await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;
    let end = api.now().unix_timestamp() + 60;
    api.execute(&format!(
        "update auth.sessions set not_after = to_timestamp({end})"
    ))
    .await;

    let tokens = refresh(&api, &tokens).await.ok();
    api.advance(Duration::from_secs(61));
    refresh(&api, &tokens).await.expect_error_text(
        400,
        "session_expired",
        "Invalid Refresh Token: Session Expired",
    );
}

#[tokio::test]
async fn an_administrators_own_token_is_good_only_as_long_as_the_session() {
    let api = Api::start(&[("auth.sessions.timebox", "30m")]).await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;
    api.execute("update auth.users set role = 'service_role'")
        .await;
    let tokens = refresh(&api, &tokens).await.ok();
    let list = || api.get("/admin/users");
    list().session(&tokens).await.ok();

    api.advance(Duration::from_secs(31 * 60));
    list()
        .session(&tokens)
        .await
        .expect_error(403, "session_expired");
    list().service_role().await.ok();

    api.execute("delete from auth.sessions").await;
    list()
        .session(&tokens)
        .await
        .expect_error(403, "session_not_found");
}

fn session_id(tokens: &Value) -> String {
    let claims = claims(tokens["access_token"].as_str().expect("a token"));
    claims["session_id"].as_str().expect("an id").to_owned()
}
