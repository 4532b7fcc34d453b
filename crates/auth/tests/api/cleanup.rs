//! Deletion of expired rows (auth contract §11).

use std::time::Duration;

use serde_json::json;

use crate::support::{Api, Requests, Sql};

const HOUR: Duration = Duration::from_secs(3600);
const PASSWORD: &str = "correct horse";

async fn counts(api: &Api) -> (i64, i64, i64) {
    (
        api.count("select count(*) from auth.users").await,
        api.count("select count(*) from auth.sessions").await,
        api.count("select count(*) from auth.refresh_tokens").await,
    )
}

#[tokio::test]
async fn replaced_tokens_go_after_a_day_and_sessions_stay() {
    let api = Api::start(&[]).await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;
    let refresh = json!({ "refresh_token": tokens["refresh_token"] });
    let refreshed = api
        .post("/token?grant_type=refresh_token", refresh)
        .await
        .ok();
    assert_eq!(counts(&api).await, (1, 1, 2));

    assert_eq!(api.clean_up().await, 0, "nothing is old");
    api.advance(25 * HOUR);
    assert_eq!(api.clean_up().await, 1);

    assert_eq!(counts(&api).await, (1, 1, 1));
    let refresh = json!({ "refresh_token": refreshed["refresh_token"] });
    api.post("/token?grant_type=refresh_token", refresh)
        .await
        .ok();
}

#[tokio::test]
async fn flows_and_challenges_go_after_a_day() {
    let api = Api::start(&[]).await;
    let id = api.sign_up("ann@mail.dev", PASSWORD).await["user"]["id"].clone();
    let user = id.as_str().expect("an id");
    api.execute(&format!(
        "insert into auth.flow_state (id, provider_type, authentication_method, created_at)
         values (gen_random_uuid(), 'google', 'oauth', now());
         insert into auth.oauth_client_states (id, provider_type, created_at)
         values (gen_random_uuid(), 'x', now());
         insert into auth.mfa_factors
           (id, user_id, friendly_name, factor_type, status, created_at, updated_at)
         values
           ('11111111-1111-1111-1111-111111111111', '{user}', 'a', 'totp', 'verified', now(), now()),
           (gen_random_uuid(), '{user}', 'b', 'totp', 'unverified', now(), now());
         insert into auth.mfa_challenges (id, factor_id, created_at, ip_address)
         values (gen_random_uuid(), '11111111-1111-1111-1111-111111111111', now(), '::1');
         insert into auth.webauthn_challenges (challenge_type, session_data, created_at, expires_at)
         values ('authentication', '{{}}', now(), now() + interval '5 minutes');"
    ))
    .await;

    assert_eq!(api.clean_up().await, 0);
    api.advance(HOUR);
    assert_eq!(api.clean_up().await, 1, "the challenge that expired");
    api.advance(24 * HOUR);
    assert_eq!(api.clean_up().await, 4);

    assert_eq!(api.count("select count(*) from auth.mfa_factors").await, 1);
}

#[tokio::test]
async fn sessions_go_a_day_after_their_time() {
    let api = Api::start(&[
        ("auth.sessions.timebox", "48h"),
        ("auth.sessions.inactivity_timeout", "10h"),
    ])
    .await;
    let tokens = api.sign_up("ann@mail.dev", PASSWORD).await;
    api.advance(9 * HOUR);
    let refresh = json!({ "refresh_token": tokens["refresh_token"] });
    api.post("/token?grant_type=refresh_token", refresh)
        .await
        .ok();
    api.sign_up("bob@mail.dev", PASSWORD).await;

    api.advance(33 * HOUR);
    api.clean_up().await;
    assert_eq!(
        counts(&api).await.1,
        2,
        "idle for less than ten hours and a day"
    );
    api.advance(2 * HOUR);
    api.clean_up().await;
    assert_eq!(counts(&api).await.1, 0);
}

#[tokio::test]
async fn anonymous_users_go_after_a_month_where_there_are_any() {
    let api = Api::start(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    api.post("/signup", json!({})).await.ok();
    api.sign_up("ann@mail.dev", PASSWORD).await;

    api.advance(29 * 24 * HOUR);
    api.clean_up().await;
    assert_eq!(counts(&api).await.0, 2);
    api.advance(2 * 24 * HOUR);
    api.clean_up().await;

    assert_eq!(counts(&api).await.0, 1);
}

#[tokio::test]
async fn locked_rows_are_skipped() {
    let api = Api::start(&[]).await;
    api.execute(
        "insert into auth.flow_state (id, provider_type, authentication_method, created_at)
         select gen_random_uuid(), 'google', 'oauth', now() from generate_series(1, 3)",
    )
    .await;
    api.advance(25 * HOUR);
    let mut other = api.admin().await;
    let transaction = other.transaction().await.expect("a transaction");
    let lock = "select id from auth.flow_state limit 1 for update";
    transaction.query(lock, &[]).await.expect("a locked row");

    assert_eq!(api.clean_up().await, 2, "without waiting for the third");

    transaction.rollback().await.expect("the lock goes");
    assert_eq!(api.clean_up().await, 1);
}

#[tokio::test]
async fn settings_may_keep_everything() {
    let api = Api::start(&[("plinth.auth.cleanup", "false")]).await;
    api.execute(
        "insert into auth.oauth_client_states (id, provider_type, created_at)
         values (gen_random_uuid(), 'x', now() - interval '1 year')",
    )
    .await;

    assert_eq!(api.clean_up().await, 0);
}

#[tokio::test]
async fn sessions_with_an_end_go_three_days_after_it() {
    let api = Api::start(&[]).await;
    api.sign_up("ann@mail.dev", PASSWORD).await;
    api.sign_up("bob@mail.dev", PASSWORD).await;
    let end = api.now().unix_timestamp();
    api.execute(&format!(
        "update auth.sessions set not_after = to_timestamp({end})
         where user_id = (select id from auth.users where email = 'ann@mail.dev')"
    ))
    .await;

    api.advance(71 * HOUR);
    api.clean_up().await;
    assert_eq!(counts(&api).await.1, 2);
    api.advance(2 * HOUR);
    api.clean_up().await;

    assert_eq!(counts(&api).await, (2, 1, 1), "those without an end stay");
}

#[tokio::test]
async fn sign_ins_at_an_organisation_that_never_came_back_go_after_a_day() {
    let api = Api::start(&[]).await;
    let now = api.now().unix_timestamp();
    api.execute(&format!(
        "insert into auth.sso_providers (id)
         values ('11111111-1111-1111-1111-111111111111');
         insert into auth.saml_relay_states (id, sso_provider_id, request_id, created_at)
         values (gen_random_uuid(), '11111111-1111-1111-1111-111111111111', 'r',
                 to_timestamp({now}))"
    ))
    .await;

    api.advance(23 * HOUR);
    assert_eq!(api.clean_up().await, 0);
    api.advance(2 * HOUR);
    assert_eq!(api.clean_up().await, 1);

    let left = "select count(*) from auth.sso_providers";
    assert_eq!(api.count(left).await, 1);
}
