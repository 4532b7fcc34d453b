//! `POST /token?grant_type=refresh_token` (auth contract §3.3): rotation, reuse and concurrency.

mod counted;
mod rules;
mod slow_hook;
mod upgraded;

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};

use crate::support::{Api, AuthReply, Reply, Requests, Sql, claims};

const COUNTED: (&str, &str) = ("plinth.auth.refresh_tokens.kind", "counted");

async fn refresh(api: &Api, token: &str) -> Reply {
    let body = json!({ "refresh_token": token });
    api.post("/token?grant_type=refresh_token", body).await
}

fn token(tokens: &Value) -> String {
    tokens["refresh_token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

async fn signed_in(settings: &[(&str, &str)]) -> (Api, Value) {
    let api = Api::start(settings).await;
    let tokens = api.sign_up("ann@mail.dev", "correct horse").await;
    (api, tokens)
}

#[tokio::test]
async fn a_token_is_exchanged_for_the_next() {
    let (api, first) = signed_in(&[]).await;
    api.execute("update auth.users set raw_app_meta_data = '{\"plan\":\"pro\"}'")
        .await;
    api.advance(Duration::from_secs(10));

    let reply = refresh(&api, &token(&first)).await;

    let second = reply.ok();
    assert_ne!(token(&second), token(&first));
    assert_eq!(token(&second).len(), 12);
    assert_eq!(reply.header("sb-auth-refresh-token-rotated"), Some("true"));
    let (before, after) = (
        claims(first["access_token"].as_str().expect("a token")),
        claims(second["access_token"].as_str().expect("a token")),
    );
    for kept in ["sub", "session_id", "aal", "amr"] {
        assert_eq!(before[kept], after[kept], "{kept}");
    }
    assert_eq!(after["app_metadata"], json!({ "plan": "pro" }));
    assert!(after["exp"].as_i64() > before["exp"].as_i64());
    assert_eq!(
        second["user"]["last_sign_in_at"],
        first["user"]["last_sign_in_at"]
    );
    let log = api.audit().await;
    assert_eq!(log[2..], ["token_revoked", "token_refreshed"]);
}

/// The client lost the response, at any time.
#[tokio::test]
async fn the_parent_of_the_active_token_gives_the_active_one_again() {
    let (api, first) = signed_in(&[]).await;
    let second = refresh(&api, &token(&first)).await.ok();
    api.advance(Duration::from_secs(3000));

    let reply = refresh(&api, &token(&first)).await;

    assert_eq!(token(&reply.ok()), token(&second));
    assert_eq!(reply.header("sb-auth-refresh-token-rotated"), Some("false"));
}

#[tokio::test]
async fn an_older_token_within_the_reuse_interval_goes_on() {
    let (api, first) = signed_in(&[]).await;
    let second = refresh(&api, &token(&first)).await.ok();
    refresh(&api, &token(&second)).await.ok();
    api.advance(Duration::from_secs(5));

    let fourth = refresh(&api, &token(&first)).await.ok();

    refresh(&api, &token(&fourth)).await.ok();
}

#[tokio::test]
async fn a_token_that_is_shown_again_later_ends_its_family() {
    let (api, first) = signed_in(&[]).await;
    let second = refresh(&api, &token(&first)).await.ok();
    let third = refresh(&api, &token(&second)).await.ok();
    api.advance(Duration::from_secs(11));

    refresh(&api, &token(&first)).await.expect_error_text(
        400,
        "refresh_token_already_used",
        "Invalid Refresh Token: Already Used",
    );

    for token in [token(&first), token(&second), token(&third)] {
        refresh(&api, &token)
            .await
            .expect_error(400, "refresh_token_already_used");
    }
    assert_eq!(api.count("select count(*) from auth.sessions").await, 1);
}

#[tokio::test]
async fn a_hundred_concurrent_uses_of_one_token_make_one_family_and_lose_no_session() {
    for settings in [&[][..], &[COUNTED][..]] {
        let (api, first) = signed_in(settings).await;
        let token = token(&first);

        let calls = (0..100).map(|_| refresh(&api, &token));
        let replies = futures_util::future::join_all(calls).await;

        let given: HashSet<String> = replies
            .iter()
            .map(|reply| self::token(&reply.ok()))
            .collect();
        assert_eq!(given.len(), 1, "everybody has the same new token");
        assert_eq!(api.count("select count(*) from auth.sessions").await, 1);
        let active = "select count(*) from auth.refresh_tokens where not revoked";
        assert!(api.count(active).await <= 1);
        let next = given.into_iter().next().expect("one");
        refresh(&api, &next).await.ok();
    }
}

#[tokio::test]
async fn malformed_and_unknown_tokens_have_different_errors() {
    let (api, _) = signed_in(&[]).await;

    for text in [
        "",
        "short",
        "ABCDEFGHIJKL",
        "not-a-token!",
        "longer than twelve",
    ] {
        refresh(&api, text).await.expect_error_text(
            400,
            "validation_failed",
            "Refresh token is not valid",
        );
    }
    refresh(&api, "abcdefghijkl")
        .await
        .expect_error(400, "refresh_token_not_found");
}

#[tokio::test]
async fn a_session_that_is_gone_or_a_banned_user_cannot_go_on() {
    let (api, tokens) = signed_in(&[]).await;
    api.execute("update auth.users set banned_until = now() + interval '1 day'")
        .await;
    refresh(&api, &token(&tokens))
        .await
        .expect_error(400, "user_banned");
    api.execute("update auth.users set banned_until = null; delete from auth.sessions")
        .await;
    refresh(&api, &token(&tokens))
        .await
        .expect_error(400, "refresh_token_not_found");
}

#[tokio::test]
async fn sessions_end_as_the_project_has_it() {
    let (api, tokens) = signed_in(&[("auth.sessions.timebox", "1h")]).await;
    api.advance(Duration::from_secs(3601));
    refresh(&api, &token(&tokens))
        .await
        .expect_error(400, "session_expired");

    let (api, tokens) = signed_in(&[("auth.sessions.inactivity_timeout", "10m")]).await;
    api.advance(Duration::from_secs(500));
    let tokens = refresh(&api, &token(&tokens)).await.ok();
    api.advance(Duration::from_secs(500));
    let tokens = refresh(&api, &token(&tokens)).await.ok();
    api.advance(Duration::from_secs(601));
    let reply = refresh(&api, &token(&tokens)).await;
    reply.expect_error(400, "session_expired");
    let text = reply.json()["message"].to_string();
    assert!(text.contains("(Inactivity)"), "{text}");
}

#[tokio::test]
async fn counted_tokens_rotate_and_notice_reuse() {
    let (api, first) = signed_in(&[COUNTED]).await;
    assert!(token(&first).len() > 12);
    let second = refresh(&api, &token(&first)).await.ok();
    assert_ne!(token(&second), token(&first));
    // One behind: the response was lost.
    let again = refresh(&api, &token(&first)).await.ok();
    assert_eq!(token(&again), token(&second));
    let third = refresh(&api, &token(&second)).await.ok();
    assert_eq!(
        api.count("select count(*) from auth.refresh_tokens").await,
        0
    );

    api.advance(Duration::from_secs(11));
    refresh(&api, &token(&first))
        .await
        .expect_error(400, "refresh_token_already_used");

    refresh(&api, &token(&third))
        .await
        .expect_error(400, "refresh_token_not_found");
    assert_eq!(api.count("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn a_counted_token_cannot_be_made_up() {
    let (api, first) = signed_in(&[COUNTED]).await;
    let mut forged = token(&first).into_bytes();
    forged[10] = match forged[10] {
        b'A' => b'B',
        _ => b'A',
    };
    let forged = String::from_utf8(forged).expect("ASCII");

    refresh(&api, &forged)
        .await
        .expect_error(400, "validation_failed");
}
