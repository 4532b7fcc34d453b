//! What an application may do with a user's token.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::{Fixture, expect_oauth_error};
use crate::support::{AuthCall, AuthReply, Requests, Sql};

/// Endpoints for the user only.
fn user_only_endpoints() -> Vec<(Method, String)> {
    let id = "00000000-0000-0000-0000-000000000001";
    let factor = |rest: &str| format!("/factors/{id}{rest}");
    let linking = "/user/identities/authorize?provider=github";
    vec![
        (Method::PUT, "/user".to_owned()),
        (Method::DELETE, "/user".to_owned()),
        (Method::GET, "/user/sessions".to_owned()),
        (Method::DELETE, format!("/user/sessions/{id}")),
        (Method::GET, "/reauthenticate".to_owned()),
        (Method::GET, linking.to_owned()),
        (Method::DELETE, format!("/user/identities/{id}")),
        (Method::POST, "/factors".to_owned()),
        (Method::POST, factor("/challenge")),
        (Method::POST, factor("/verify")),
        (Method::DELETE, factor("")),
        (Method::POST, "/passkeys/registration/options".to_owned()),
        (Method::POST, "/passkeys/registration/verify".to_owned()),
        (Method::GET, "/passkeys".to_owned()),
        (Method::DELETE, format!("/passkeys/{id}")),
        (Method::GET, "/user/oauth/grants".to_owned()),
        (Method::DELETE, format!("/user/oauth/grants?client_id={id}")),
        (Method::GET, format!("/oauth/authorizations/{id}")),
    ]
}

async fn with_access() -> (Fixture, String, String) {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;
    let tokens = fixture.exchange(&code).await.ok();
    let text = |name: &str| tokens[name].as_str().expect("a token").to_owned();
    let (access, refresh) = (text("access_token"), text("refresh_token"));
    (fixture, access, refresh)
}

#[tokio::test]
async fn it_knows_its_user() {
    let (fixture, token, _) = with_access().await;

    for path in ["/user", "/oauth/userinfo"] {
        fixture.api.get(path).bearer(&token).await.ok();
    }
}

#[tokio::test]
async fn it_does_not_take_the_account_over() {
    let (fixture, token, _) = with_access().await;

    for (method, path) in user_only_endpoints() {
        let call = fixture.api.call(method, &path).json(&json!({}));
        let reply = call.bearer(&token).await;
        reply.expect_error(403, "no_authorization");
    }
    let body = json!({ "id_token": "x", "provider": "google", "link_identity": true });
    let link = fixture.api.post("/token?grant_type=id_token", body);
    let reply = link.bearer(&token).await;
    reply.expect_error(403, "no_authorization");
}

/// It has the same key and subject, but is for the application only.
#[tokio::test]
async fn an_id_token_is_no_way_in() {
    let fixture = Fixture::new().await;
    let code = fixture.code("openid email").await;
    let tokens = fixture.exchange(&code).await.ok();
    let id_token = tokens["id_token"].as_str().expect("an ID token");

    let mut calls = user_only_endpoints();
    calls.extend([
        (Method::GET, "/user".to_owned()),
        (Method::GET, "/oauth/userinfo".to_owned()),
        (Method::POST, "/logout?scope=global".to_owned()),
    ]);
    for (method, path) in calls {
        let body = json!({ "password": "taken over" });
        let call = fixture.api.call(method, &path).json(&body);
        call.bearer(id_token).await.expect_error(403, "bad_jwt");
    }
    let body = json!({ "id_token": "x", "provider": "google", "link_identity": true });
    let link = fixture.api.post("/token?grant_type=id_token", body);
    link.bearer(id_token).await.expect_error(403, "bad_jwt");
    let admin = fixture.api.get("/admin/users").bearer(id_token).await;
    admin.expect_error(403, "not_admin");

    fixture.api.get("/user").session(&fixture.user).await.ok();
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let sign_in = fixture.api.post("/token?grant_type=password", body);
    sign_in.await.ok();
}

#[tokio::test]
async fn it_signs_out_itself_alone() {
    for scope in ["", "?scope=global", "?scope=local", "?scope=others"] {
        let (fixture, token, _) = with_access().await;

        let logout = format!("/logout{scope}");
        let reply = fixture.api.post(&logout, json!({})).bearer(&token).await;

        assert_eq!(reply.status, 204, "{reply:?}");
        let reply = fixture.api.get("/user").bearer(&token).await;
        reply.expect_error(403, "session_not_found");
        fixture.api.get("/user").session(&fixture.user).await.ok();
    }
}

#[tokio::test]
async fn turning_it_out_voids_its_code_too() {
    let (fixture, _, _) = with_access().await;
    let code = {
        let id = fixture.begin("email").await;
        let response = fixture.show(&id).await.ok();
        super::parameter(&response["redirect_url"], "code").expect("a code")
    };
    let path = format!("/user/oauth/grants?client_id={}", fixture.client_id());
    let reply = fixture.api.delete(&path).session(&fixture.user).await;
    assert_eq!(reply.status, 204, "{reply:?}");

    expect_oauth_error(&fixture.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn the_token_of_a_deleted_user_is_rejected() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;
    let id = fixture.user["user"]["id"].as_str().expect("an id");
    let call = fixture.api.delete(&format!("/admin/users/{id}"));
    let call = call.json(&json!({ "should_soft_delete": true }));
    call.service_role().await.ok();

    expect_oauth_error(&fixture.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn a_failed_refresh_is_an_oauth_error() {
    let (fixture, _, refresh) = with_access().await;
    let begin = async |token: &str| {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        fixture.token(&form).await
    };

    expect_oauth_error(&begin("not a token").await, "invalid_grant");
    expect_oauth_error(&begin("aaaaaaaaaaaa").await, "invalid_grant");
    let own = fixture.user["refresh_token"].as_str().expect("a token");
    expect_oauth_error(&begin(own).await, "invalid_client");
    let next = begin(&refresh).await.ok();
    let next = next["refresh_token"].as_str().expect("a token");
    begin(next).await.ok();
    fixture.api.advance(Duration::from_secs(60));
    expect_oauth_error(&begin(&refresh).await, "invalid_grant");
}

#[tokio::test]
async fn authorizations_are_rate_limited_and_expire() {
    let fixture = Fixture::new().await;
    for _ in 0..30 {
        fixture.begin("email").await;
    }

    let reply = fixture.authorize(&[]).await;

    reply.expect_error(429, "over_request_rate_limit");
    let rows = "select count(*) from auth.oauth_authorizations";
    assert_eq!(fixture.api.count(rows).await, 30);
    fixture.api.advance(Duration::from_secs(25 * 3600));
    fixture.api.clean_up().await;
    assert_eq!(fixture.api.count(rows).await, 0);
}
