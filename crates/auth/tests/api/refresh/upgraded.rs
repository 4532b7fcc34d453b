//! Several tabs of a browser during the upgrade to counted tokens.

use super::*;
use crate::support::{AuthReply, Sql};

/// A session with a v1 token, in a project that upgrades all sessions.
async fn older(api: &Api, tokens: &Value) -> &'static str {
    let user = tokens["user"]["id"].as_str().expect("an id");
    let now = api.now().unix_timestamp();
    api.execute(&format!(
        "insert into auth.sessions (id, user_id, created_at, updated_at, aal)
         values (md5('1')::uuid, '{user}', to_timestamp({now}), to_timestamp({now}), 'aal1');
         insert into auth.refresh_tokens
           (token, user_id, revoked, created_at, updated_at, session_id)
         values ('oldtoken0001', '{user}', false, to_timestamp({now}), to_timestamp({now}),
           md5('1')::uuid)"
    ))
    .await;
    "oldtoken0001"
}

async fn upgrading() -> (Api, &'static str) {
    let share = ("plinth.auth.refresh_tokens.upgrade_percentage", "100");
    let (api, tokens) = signed_in(&[COUNTED, share]).await;
    let old = older(&api, &tokens).await;
    (api, old)
}

#[tokio::test]
async fn all_tabs_get_the_same_token() {
    let (api, old) = upgrading().await;

    let calls = (0..10).map(|_| refresh(&api, old));
    let replies = futures_util::future::join_all(calls).await;

    let tokens: HashSet<String> = replies.iter().map(|reply| token(&reply.ok())).collect();
    assert_eq!(tokens.len(), 1);
    let next = tokens.into_iter().next().expect("one");
    refresh(&api, &next).await.ok();
}

/// The client lost the response, at any time.
#[tokio::test]
async fn the_last_row_is_good_until_the_first_counter_is_used() {
    let (api, old) = upgrading().await;
    let first = refresh(&api, old).await.ok();
    api.advance(Duration::from_secs(600));

    let again = refresh(&api, old).await.ok();
    assert_eq!(token(&again), token(&first));

    let second = refresh(&api, &token(&first)).await.ok();
    refresh(&api, old)
        .await
        .expect_error(400, "refresh_token_already_used");
    refresh(&api, &token(&second))
        .await
        .expect_error(400, "refresh_token_not_found");
}

#[tokio::test]
async fn a_tab_that_is_late_is_not_signed_out() {
    let (api, old) = upgrading().await;
    let first = refresh(&api, old).await.ok();
    let second = refresh(&api, &token(&first)).await.ok();
    api.advance(Duration::from_secs(5));

    let late = refresh(&api, old).await.ok();

    assert_eq!(token(&late), token(&second));
}
