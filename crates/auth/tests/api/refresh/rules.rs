//! Settings for reused tokens, and what a refresh stores.

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, Sql};

const NO_ROTATION: (&str, &str) = ("auth.enable_refresh_token_rotation", "false");
const REUSE: (&str, &str) = ("plinth.auth.refresh_tokens.allow_reuse", "true");

#[tokio::test]
async fn without_rotation_a_token_that_is_shown_again_ends_nothing_else() {
    for settings in [&[NO_ROTATION][..], &[NO_ROTATION, COUNTED][..]] {
        let (api, first) = signed_in(settings).await;
        let second = refresh(&api, &token(&first)).await.ok();
        let third = refresh(&api, &token(&second)).await.ok();
        api.advance(Duration::from_secs(11));

        refresh(&api, &token(&first))
            .await
            .expect_error(400, "refresh_token_already_used");

        assert_eq!(api.count("select count(*) from auth.sessions").await, 1);
        refresh(&api, &token(&third)).await.ok();
    }
}

#[tokio::test]
async fn where_reuse_is_allowed_an_old_token_gives_the_current_one() {
    let (api, first) = signed_in(&[COUNTED, REUSE]).await;
    let second = refresh(&api, &token(&first)).await.ok();
    let third = refresh(&api, &token(&second)).await.ok();
    api.advance(Duration::from_secs(3000));

    let reply = refresh(&api, &token(&first)).await;

    assert_eq!(token(&reply.ok()), token(&third));
    assert_eq!(reply.header("sb-auth-refresh-token-rotated"), Some("false"));
    refresh(&api, &token(&third)).await.ok();
}

/// Tokens from before sessions existed.
#[tokio::test]
async fn a_token_without_a_session_has_its_own_error() {
    let (api, tokens) = signed_in(&[]).await;
    let user = tokens["user"]["id"].as_str().expect("an id");
    api.execute(&format!(
        "insert into auth.refresh_tokens (token, user_id, revoked, created_at, updated_at)
         values ('abcdefghijkl', '{user}', false, now(), now())"
    ))
    .await;

    refresh(&api, "abcdefghijkl").await.expect_error_text(
        400,
        "session_not_found",
        "Invalid Refresh Token: No Valid Session Found",
    );
}

#[tokio::test]
async fn the_session_says_when_and_from_where_it_was_last_used() {
    for settings in [&[][..], &[COUNTED][..]] {
        let (api, tokens) = signed_in(settings).await;
        api.advance(Duration::from_secs(60));

        let body = json!({ "refresh_token": token(&tokens) });
        let call = api.post("/token?grant_type=refresh_token", body);
        let call = call
            .client_ip("192.0.2.7")
            .header("user-agent", "Other/2.0");
        let tokens = call.await.ok();

        let list = api.get("/user/sessions").session(&tokens).await.ok();
        let session = &list[0];
        assert_eq!(session["ip"], "192.0.2.7");
        assert_eq!(session["user_agent"], "Other/2.0");
        let passed = time_of(&session["refreshed_at"]) - time_of(&session["created_at"]);
        assert_eq!(passed.whole_seconds(), 60);
    }
}

fn time_of(value: &Value) -> OffsetDateTime {
    let text = value.as_str().expect("a time");
    OffsetDateTime::parse(text, &Rfc3339).expect("a time of RFC 3339")
}
