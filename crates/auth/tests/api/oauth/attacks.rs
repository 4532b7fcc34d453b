//! Attacks on the flow.

use std::time::Duration;

use plinth_token::SigningKey;
use serde_json::{Value, json};

use super::{
    CHALLENGE, begin_flow, finish_flow,
    idp::{CLIENT_ID, Idp},
    landing, run_flow, start,
};
use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, Sql};

#[track_caller]
fn lost(reply: &Reply, error: &str, code: &str) {
    let landed = landing(reply, 303);
    assert_eq!(landed.url.host_str(), Some("localhost"));
    assert_eq!(landed.query("error"), error, "{}", landed.url);
    assert_eq!(landed.query("error_code"), code, "{}", landed.url);
    assert!(!landed.query("error_description").is_empty());
    assert!(landed.fragment.is_empty());
}

#[tokio::test]
async fn an_unknown_state_is_rejected() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let forged = uuid::Uuid::new_v4().to_string();
    for (query, code) in [
        ("code=c", "bad_oauth_callback"),
        ("state=&code=c", "bad_oauth_callback"),
        ("state=forged&code=c", "bad_oauth_state"),
        ("state=%00&code=c", "bad_oauth_state"),
        (&format!("state={forged}&code=c"), "bad_oauth_state"),
    ] {
        let reply = api.get(&format!("/callback?{query}")).without_key().await;
        lost(&reply, "invalid_request", code);
    }
    let reply = api
        .call(http::Method::POST, "/callback")
        .form("code=c")
        .await;
    lost(&reply, "invalid_request", "bad_oauth_callback");
    assert_eq!(idp.seen("/login/oauth/access_token").len(), 0);
}

#[tokio::test]
async fn the_state_of_a_mail_flow_is_no_state() {
    let (api, idp) = start("github", &[super::CONFIRM]).await;
    idp.github(7, "ann@mail.dev", true);
    let body = json!({
        "email": "ann@mail.dev", "password": "correct horse", "code_challenge": CHALLENGE,
        "code_challenge_method": "s256",
    });
    api.post("/signup", body).await.ok();
    let state = api
        .value("select to_jsonb(id) from auth.flow_state", &[])
        .await;

    let reply = finish_flow(&api, state.as_str().expect("an id")).await;

    lost(&reply, "invalid_request", "bad_oauth_state");
}

#[tokio::test]
async fn a_state_is_good_once_and_not_for_long() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);

    let state = begin_flow(&api, "provider=github").await;
    assert!(
        !landing(&finish_flow(&api, &state).await, 302)
            .fragment("access_token")
            .is_empty()
    );
    lost(
        &finish_flow(&api, &state).await,
        "invalid_request",
        "bad_oauth_state",
    );

    let pkce = format!("provider=github&code_challenge={CHALLENGE}&code_challenge_method=s256");
    let state = begin_flow(&api, &pkce).await;
    assert!(
        !landing(&finish_flow(&api, &state).await, 302)
            .query("code")
            .is_empty()
    );
    lost(
        &finish_flow(&api, &state).await,
        "invalid_request",
        "flow_state_already_used",
    );

    let state = begin_flow(&api, "provider=github").await;
    api.advance(Duration::from_secs(301));
    lost(
        &finish_flow(&api, &state).await,
        "invalid_request",
        "bad_oauth_state",
    );
}

#[tokio::test]
async fn two_concurrent_callbacks_open_one_session() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let state = begin_flow(&api, "provider=github").await;

    let visits = (0..6).map(|_| finish_flow(&api, &state));
    let replies = futures_util::future::join_all(visits).await;

    let sessions = replies
        .iter()
        .filter(|reply| reply.location().contains("access_token="));
    assert_eq!(sessions.count(), 1);
    assert_eq!(api.count("select count(*) from auth.sessions").await, 1);
}

/// A PKCE flow never puts tokens into a URL.
#[tokio::test]
async fn a_challenge_cannot_be_dropped_on_the_way() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let pkce = format!("provider=github&code_challenge={CHALLENGE}&code_challenge_method=s256");
    let state = begin_flow(&api, &pkce).await;

    let path = format!("/callback?state={state}&code=c&code_challenge=&code_challenge_method=");
    let landed = landing(&api.get(&path).without_key().await, 302);
    assert!(landed.fragment.is_empty());
    let body = json!({ "auth_code": landed.query("code"), "code_verifier": null });
    api.post("/token?grant_type=pkce", body)
        .await
        .expect_error(400, "validation_failed");
    assert_eq!(api.count("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn a_code_in_the_target_does_not_survive() {
    let (api, idp) = start("github", &[]).await;
    idp.github(7, "ann@mail.dev", true);
    let target = "redirect_to=http%3A%2F%2Flocalhost%3A3000%2F%3Fcode%3Devil";
    let query =
        format!("provider=github&{target}&code_challenge={CHALLENGE}&code_challenge_method=s256");

    let landed = run_flow(&api, &query).await;

    let codes = landed.url.query_pairs().filter(|(name, _)| name == "code");
    assert_eq!(codes.count(), 1);
    assert_ne!(landed.query("code"), "evil");
}

fn google_claims(api: &Api, idp: &Idp) -> Value {
    let now = api.now().unix_timestamp();
    json!({
        "iss": idp.url, "aud": CLIENT_ID, "sub": "9", "iat": now, "exp": now + 600,
        "email": "ann@mail.dev", "email_verified": true, "name": "Ann",
    })
}

/// Sets the ID token of the token endpoint.
fn set_id_token(idp: &Idp, id_token: &str) {
    let response = json!({ "access_token": "a", "token_type": "Bearer", "id_token": id_token });
    idp.set_response("/token", response);
}

#[tokio::test]
async fn id_tokens_of_the_redirect_flow_are_checked_like_any_other() {
    let (api, idp) = start("google", &[]).await;
    let issuer = idp.url.clone();
    idp.publish(&issuer);
    let changed = |name: &str, value: Value| {
        let mut claims = google_claims(&api, &idp);
        claims[name] = value;
        idp.sign(&claims)
    };
    let now = api.now().unix_timestamp();
    let public = idp.public_key();
    let secret = public["x"].as_str().expect("a coordinate").as_bytes();
    let by_public_key =
        SigningKey::from_shared_secret(secret, public["kid"].as_str().map(str::to_owned));
    let by_public_key = by_public_key
        .expect("a key")
        .sign(&google_claims(&api, &idp));
    let stranger = Idp::start().await;
    let encode = |text: String| data_encoding::BASE64URL_NOPAD.encode(text.as_bytes());
    let unsigned = format!(
        "{}.{}.",
        encode(json!({ "alg": "none" }).to_string()),
        encode(google_claims(&api, &idp).to_string()),
    );

    for (what, token) in [
        ("another audience", changed("aud", json!("somebody else"))),
        ("no audience", changed("aud", json!([]))),
        ("another client asked", {
            let mut claims = google_claims(&api, &idp);
            claims["aud"] = json!([CLIENT_ID, "x"]);
            claims["azp"] = json!("x");
            idp.sign(&claims)
        }),
        ("another issuer", changed("iss", json!("https://evil.test"))),
        ("over", changed("exp", json!(now - 60))),
        ("endless", changed("exp", Value::Null)),
        ("not yet", changed("nbf", json!(now + 120))),
        (
            "another access token",
            changed("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA")),
        ),
        ("another key", stranger.sign(&google_claims(&api, &idp))),
        ("public key as secret", by_public_key.expect("a token")),
        ("unsigned", unsigned),
        ("nobody", changed("sub", json!(""))),
        ("no token", "x".to_owned()),
    ] {
        set_id_token(&idp, &token);
        let landed = run_flow(&api, "provider=google").await;
        assert_eq!(landed.query("error"), "server_error", "{what}");
        assert!(!landed.fragment.contains_key("access_token"), "{what}");
    }
    assert_eq!(api.count("select count(*) from auth.users").await, 0);

    set_id_token(&idp, &idp.sign(&google_claims(&api, &idp)));
    let landed = run_flow(&api, "provider=google").await;
    assert!(
        !landed.fragment("access_token").is_empty(),
        "{}",
        landed.url
    );
}

#[tokio::test]
async fn keys_may_change_at_any_time() {
    let (api, idp) = start("google", &[]).await;
    let issuer = idp.url.clone();
    idp.publish(&issuer);
    set_id_token(&idp, &idp.sign(&google_claims(&api, &idp)));
    run_flow(&api, "provider=google").await;

    api.advance(Duration::from_secs(11));
    idp.rotate();
    set_id_token(&idp, &idp.sign(&google_claims(&api, &idp)));

    let landed = run_flow(&api, "provider=google").await;
    assert!(
        !landed.fragment("access_token").is_empty(),
        "{}",
        landed.url
    );
    assert_eq!(idp.seen("/keys").len(), 2);
    assert_eq!(idp.seen("/.well-known/openid-configuration").len(), 1);
}

/// Tokens with unknown keys do not cause a request to the provider each time.
#[tokio::test]
async fn unknown_keys_are_not_looked_for_again_and_again() {
    let (api, idp) = start("google", &[]).await;
    let issuer = idp.url.clone();
    idp.publish(&issuer);
    let stranger = Idp::start().await;
    set_id_token(&idp, &stranger.sign(&google_claims(&api, &idp)));

    for _ in 0..5 {
        run_flow(&api, "provider=google").await;
    }

    assert!(
        idp.seen("/keys").len() <= 2,
        "{:?}",
        idp.seen("/keys").len()
    );
}
