//! Special cases of single providers.

use std::time::Duration;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::json;

use super::{
    begin_flow, finish_flow,
    idp::{CLIENT_ID, CLIENT_SECRET, Idp},
    landing, run_flow, sign_in, start,
};
use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

fn apple(api: &Api, idp: &Idp) {
    idp.publish(&idp.url);
    let now = api.now().unix_timestamp();
    let id_token = idp.sign(&json!({
        "iss": idp.url, "aud": CLIENT_ID, "sub": "001", "iat": now, "exp": now + 600,
        "email": "x@relay.test", "is_private_email": "true",
    }));
    let response = json!({ "access_token": "a", "refresh_token": "r", "id_token": id_token });
    idp.set_response("/token", response);
}

#[tokio::test]
async fn apple_posts_a_form_and_sends_the_name_once() {
    let (api, idp) = start("apple", &[]).await;
    apple(&api, &idp);
    let reply = api
        .get("/authorize?provider=apple&prompt=login")
        .without_key()
        .await;
    let there = landing(&reply, 302);
    assert_eq!(there.query("response_mode"), "form_post");
    assert_eq!(there.query("scope"), "email name");
    assert!(!there.query.contains_key("prompt"));

    let user = "%7B%22name%22%3A%7B%22firstName%22%3A%22Ann%22%2C%22lastName%22%3A%22Lee%22%7D%7D";
    let form = format!("state={}&code=c&user={user}", there.query("state"));
    let reply = api
        .call(http::Method::POST, "/callback")
        .form(&form)
        .without_key()
        .await;
    let landed = landing(&reply, 302);

    assert_eq!(landed.fragment("provider_token"), "a");
    assert_eq!(landed.fragment("provider_refresh_token"), "r");
    let user = api
        .get("/user")
        .bearer(landed.fragment("access_token"))
        .await
        .ok();
    assert_eq!(user["email"], "x@relay.test");
    assert_eq!(user["user_metadata"]["full_name"], "Ann Lee");
    assert_eq!(
        user["user_metadata"]["custom_claims"],
        json!({ "is_private_email": true })
    );
    let exchange = &idp.seen("/token")[0];
    assert_eq!(exchange.authorization, "");
    assert_eq!(exchange.field("client_id"), Some(CLIENT_ID));
    assert_eq!(exchange.field("client_secret"), Some(CLIENT_SECRET));
    assert_eq!(exchange.field("grant_type"), Some("authorization_code"));
    assert_eq!(
        exchange.field("redirect_uri"),
        Some("http://api.test/auth/v1/callback")
    );

    // Later forms have no name; the first one stays.
    let (_, again) = sign_in(&api, "apple").await;
    assert_eq!(again["user_metadata"]["full_name"], "Ann Lee");
}

#[tokio::test]
async fn a_name_that_is_no_json_does_no_harm() {
    let (api, idp) = start("apple", &[]).await;
    apple(&api, &idp);
    for user in ["x", "%5B%5D", "%7B%22name%22%3A7%7D", "%7B%7D"] {
        let state = begin_flow(&api, "provider=apple").await;
        let form = format!("state={state}&code=c&user={user}");
        let reply = api.call(http::Method::POST, "/callback").form(&form).await;
        assert!(
            !landing(&reply, 302).fragment("access_token").is_empty(),
            "{user}"
        );
    }
}

#[tokio::test]
async fn x_is_asked_with_a_verifier_of_ours() {
    let lifetime = ("plinth.auth.external.flow_lifetime", "10m");
    let (api, idp) = start("x", &[lifetime]).await;
    idp.set_response("/2/oauth2/token", json!({ "access_token": "a" }))
        .set_response(
            "/2/users/me",
            json!({ "data": { "id": "1", "username": "ann", "confirmed_email": "ann@mail.dev" } }),
        );
    let reply = api.get("/authorize?provider=x").without_key().await;
    let there = landing(&reply, 302);
    assert_eq!(there.query("code_challenge_method"), "S256");

    let landed = landing(&finish_flow(&api, there.query("state")).await, 302);

    assert!(
        !landed.fragment("access_token").is_empty(),
        "{}",
        landed.url
    );
    let exchange = &idp.seen("/2/oauth2/token")[0];
    let verifier = exchange.field("code_verifier").expect("a verifier");
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, verifier.as_bytes());
    assert_eq!(
        BASE64URL_NOPAD.encode(hash.as_ref()),
        there.query("code_challenge")
    );
    let basic = format!("{CLIENT_ID}:our+secret+%26+more");
    assert_eq!(
        exchange.authorization,
        format!("Basic {}", BASE64.encode(basic.as_bytes()))
    );
    assert_eq!(
        api.count("select count(*) from auth.oauth_client_states")
            .await,
        0
    );

    let state = begin_flow(&api, "provider=x").await;
    api.advance(Duration::from_secs(301));
    let landed = landing(&finish_flow(&api, &state).await, 302);
    landed.expect_error("server_error", "oauth_client_state_expired");

    let state = begin_flow(&api, "provider=x").await;
    api.execute("delete from auth.oauth_client_states").await;
    let landed = landing(&finish_flow(&api, &state).await, 302);
    landed.expect_error("server_error", "oauth_client_state_not_found");

    let state = begin_flow(&api, "provider=x").await;
    api.execute("update auth.oauth_client_states set provider_type = 'github'")
        .await;
    let landed = landing(&finish_flow(&api, &state).await, 302);
    landed.expect_error("invalid_request", "oauth_invalid_state");

    let state = begin_flow(&api, "provider=x").await;
    api.execute("update auth.flow_state set oauth_client_state_id = null")
        .await;
    let landed = landing(&finish_flow(&api, &state).await, 302);
    landed.expect_error("invalid_request", "oauth_invalid_state");
}

#[tokio::test]
async fn a_provider_that_rejects_the_header_gets_the_secret_in_the_body() {
    let (api, idp) = start("discord", &[]).await;
    idp.set_response_with_status(
        "/api/oauth2/token",
        401,
        json!({ "error": "invalid_client" }),
    );

    run_flow(&api, "provider=discord")
        .await
        .expect_error("server_error", "unexpected_failure");

    let exchanges = idp.seen("/api/oauth2/token");
    assert_eq!(exchanges.len(), 2);
    assert!(exchanges[0].authorization.starts_with("Basic "));
    assert_eq!(exchanges[0].field("client_secret"), None);
    assert_eq!(exchanges[1].authorization, "");
    assert_eq!(exchanges[1].field("client_secret"), Some(CLIENT_SECRET));
}

#[tokio::test]
async fn facebook_is_shown_a_proof_and_twitch_our_name() {
    let (facebook, twitch) = (Idp::start().await, Idp::start().await);
    let api = super::start_with(&[("facebook", &facebook), ("twitch", &twitch)], &[]).await;
    facebook
        .set_response("/oauth/access_token", json!({ "access_token": "a" }))
        .set_response("/me", json!({ "id": "1", "email": "ann@mail.dev" }));
    twitch
        .set_response("/oauth2/token", json!({ "access_token": "t" }))
        .set_response(
            "/helix/users",
            json!({ "data": [{ "id": "2", "email": "bob@mail.dev" }] }),
        );

    sign_in(&api, "facebook").await;
    let seen = &facebook.seen("/me")[0];
    assert_eq!(seen.authorization, "Bearer a");
    assert_eq!(
        seen.field("fields"),
        Some("email,first_name,last_name,name,picture")
    );
    assert_eq!(seen.field("appsecret_proof").map(str::len), Some(64));
    sign_in(&api, "twitch").await;
    let seen = &twitch.seen("/helix/users")[0];
    assert_eq!(seen.authorization, "Bearer t");
    assert_eq!(seen.headers["client-id"], CLIENT_ID);
}

#[tokio::test]
async fn workos_sends_the_profile_with_the_token() {
    let (api, idp) = start("workos", &[]).await;
    idp.set_response(
        "/sso/token",
        json!({ "access_token": "a", "profile": {
            "id": "p", "email": "ann@mail.dev", "first_name": "Ann", "connection_id": "c",
        } }),
    );
    let reply = api
        .get("/authorize?provider=workos&connection=c&workos_provider=g")
        .await;
    let there = landing(&reply, 302);
    assert_eq!(there.query("connection"), "c");
    assert_eq!(there.query("provider"), "g");

    let (_, user) = sign_in(&api, "workos").await;

    assert_eq!(
        user["user_metadata"]["custom_claims"],
        json!({ "connection_id": "c" })
    );
}

#[tokio::test]
async fn keycloak_is_wherever_the_project_says() {
    let (api, idp) = start("keycloak", &[]).await;
    idp.set_response(
        "/protocol/openid-connect/token",
        json!({ "access_token": "a" }),
    )
    .set_response(
        "/protocol/openid-connect/userinfo",
        json!({ "sub": "k", "email": "ann@mail.dev", "email_verified": true, "team": "x" }),
    );

    let (_, user) = sign_in(&api, "keycloak").await;

    assert_eq!(user["user_metadata"]["iss"], idp.url);
    assert_eq!(
        user["user_metadata"]["custom_claims"],
        json!({ "team": "x" })
    );
    let nowhere = Api::start(&[
        ("auth.external.keycloak.enabled", "true"),
        ("auth.external.keycloak.client_id", "x"),
        ("auth.external.keycloak.secret", "y"),
    ])
    .await;
    let reply = nowhere.get("/authorize?provider=keycloak").await;
    reply.expect_error(400, "validation_failed");
}

#[tokio::test]
async fn azure_is_believed_by_its_id_token_alone() {
    let (api, idp) = start("azure", &[]).await;
    idp.publish(&idp.url);
    idp.set_response("/oauth2/v2.0/token", json!({ "access_token": "a" }));
    run_flow(&api, "provider=azure")
        .await
        .expect_error("server_error", "unexpected_failure");

    let now = api.now().unix_timestamp();
    let id_token = |edov: bool| {
        idp.sign(&json!({
            "iss": idp.url, "aud": CLIENT_ID, "sub": "a", "exp": now + 600,
            "email": "ann@mail.dev", "xms_edov": edov, "tid": "t",
        }))
    };
    let response = json!({ "access_token": "a", "id_token": id_token(true) });
    idp.set_response("/oauth2/v2.0/token", response);
    let (_, user) = sign_in(&api, "azure").await;
    assert_eq!(user["user_metadata"]["email_verified"], true);
    assert_eq!(user["user_metadata"]["custom_claims"]["tid"], "t");
}

#[tokio::test]
async fn twitter_uses_oauth_1() {
    let (api, idp) = start("twitter", &[]).await;
    idp.set_response(
        "/oauth/request_token",
        json!("oauth_token=rt&oauth_token_secret=rs"),
    )
    .set_response(
        "/oauth/access_token",
        json!("oauth_token=at&oauth_token_secret=as"),
    )
    .set_response(
        "/1.1/account/verify_credentials.json",
        json!({ "id_str": "1", "screen_name": "ann", "email": "ann@mail.dev" }),
    );

    let begin = async || {
        let reply = api.get("/authorize?provider=twitter").without_key().await;
        let there = landing(&reply, 302);
        assert_eq!(there.query("oauth_token"), "rt");
        let id = api
            .value("select to_jsonb(id) from auth.flow_state limit 1", &[])
            .await;
        id.as_str().expect("an id").to_owned()
    };
    let state = begin().await;
    let authorization = &idp.seen("/oauth/request_token")[0].authorization;
    assert!(
        authorization.contains(&format!("state%253D{state}"))
            || authorization.contains(&format!("state%3D{state}"))
    );
    let path = format!("/callback?state={state}&oauth_token=rt&oauth_verifier=v");
    let landed = landing(&api.get(&path).without_key().await, 302);

    assert_eq!(landed.fragment("provider_token"), "at");
    assert!(
        idp.seen("/oauth/access_token")[0]
            .authorization
            .contains("oauth_verifier=\"v\"")
    );
    let profile = &idp.seen("/1.1/account/verify_credentials.json")[0];
    assert_eq!(profile.field("include_email"), Some("true"));
    assert!(profile.authorization.contains("oauth_token=\"at\""));

    let state = begin().await;
    let path = format!("/callback?state={state}&oauth_token=other&oauth_verifier=v");
    let landed = landing(&api.get(&path).without_key().await, 302);
    landed.expect_error("invalid_request", "oauth_invalid_state");
}
