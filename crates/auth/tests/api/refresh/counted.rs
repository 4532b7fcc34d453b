//! Counted tokens: forged ones, future ones, and upgrades of older sessions.

use aws_lc_rs::digest;
use data_encoding::BASE64URL_NOPAD;

use super::*;
use crate::support::{AuthReply, Sql};

/// After the signature.
const CHECKSUM_BYTES: usize = 4;

/// The same token with another signature and a right checksum.
fn forged(token: &str) -> String {
    let mut bytes = BASE64URL_NOPAD.decode(token.as_bytes()).expect("base64url");
    bytes.truncate(bytes.len() - CHECKSUM_BYTES);
    *bytes.last_mut().expect("a signature") ^= 1;
    let sum = digest::digest(&digest::SHA256, &bytes);
    bytes.extend(&sum.as_ref()[..CHECKSUM_BYTES]);
    BASE64URL_NOPAD.encode(&bytes)
}

#[tokio::test]
async fn a_forged_signature_is_an_unknown_token() {
    let (api, tokens) = signed_in(&[COUNTED]).await;

    refresh(&api, &forged(&token(&tokens)))
        .await
        .expect_error_text(
            400,
            "refresh_token_not_found",
            "Invalid Refresh Token: Refresh Token Not Found",
        );

    refresh(&api, &token(&tokens)).await.ok();
}

/// As after restoring a backup.
#[tokio::test]
async fn a_future_count_is_rejected_and_ends_nothing() {
    let (api, first) = signed_in(&[COUNTED]).await;
    let second = refresh(&api, &token(&first)).await.ok();
    api.execute("update auth.sessions set refresh_token_counter = 0")
        .await;

    refresh(&api, &token(&second)).await.expect_error_text(
        400,
        "validation_failed",
        "Refresh token is not valid",
    );

    refresh(&api, &token(&first)).await.ok();
}

/// A service with counted tokens that upgrades this percentage of older sessions.
async fn upgrading(percentage: &str) -> (Api, String) {
    let share = ("plinth.auth.refresh_tokens.upgrade_percentage", percentage);
    let (api, tokens) = signed_in(&[COUNTED, share]).await;
    let user = tokens["user"]["id"].as_str().expect("an id").to_owned();
    (api, user)
}

/// A session with a v1 token; the id depends on `number` only.
async fn older_session(api: &Api, user: &str, number: u8) -> String {
    let token = format!("oldtoken{number:04}");
    api.execute(&format!(
        "insert into auth.sessions (id, user_id, created_at, updated_at, aal)
         values (md5('{number}')::uuid, '{user}', now(), now(), 'aal1');
         insert into auth.refresh_tokens
           (token, user_id, revoked, created_at, updated_at, session_id)
         values ('{token}', '{user}', false, now(), now(), md5('{number}')::uuid)"
    ))
    .await;
    token
}

fn is_counted(tokens: &Value) -> bool {
    token(tokens).len() > 12
}

#[tokio::test]
async fn a_refresh_moves_an_older_session_on_to_counted_tokens() {
    let (api, user) = upgrading("100").await;
    let old = older_session(&api, &user, 1).await;

    let first = refresh(&api, &old).await.ok();

    assert!(is_counted(&first), "{first}");
    let active = "select count(*) from auth.refresh_tokens where not revoked";
    assert_eq!(api.count(active).await, 0);
    let second = refresh(&api, &token(&first)).await.ok();
    assert!(is_counted(&second));
    let session = |tokens: &Value| {
        claims(tokens["access_token"].as_str().expect("a token"))["session_id"].clone()
    };
    assert_eq!(session(&second), session(&first));
}

#[tokio::test]
async fn the_upgrade_decision_is_stable_per_session() {
    let (api, user) = upgrading("50").await;
    let mut moved = 0;
    for number in 0..16 {
        let old = older_session(&api, &user, number).await;
        let first = refresh(&api, &old).await.ok();
        let second = refresh(&api, &token(&first)).await.ok();

        assert_eq!(is_counted(&first), is_counted(&second), "{number}");
        moved += u8::from(is_counted(&first));
    }
    assert!((3..=13).contains(&moved), "{moved} of 16 is no half");
}
