//! What an application may do with the token of somebody who let it in.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::{World, fails};

/// All that only the user in person may ask for.
fn in_person() -> Vec<(Method, String)> {
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

async fn let_in() -> (World, String, String) {
    let world = World::new().await;
    let code = world.code("email").await;
    let tokens = world.exchange(&code).await.ok();
    let text = |name: &str| tokens[name].as_str().expect("a token").to_owned();
    let (access, refresh) = (text("access_token"), text("refresh_token"));
    (world, access, refresh)
}

#[tokio::test]
async fn it_knows_its_user() {
    let (world, token, _) = let_in().await;

    for path in ["/user", "/oauth/userinfo"] {
        world.api.get(path).bearer(&token).await.ok();
    }
}

#[tokio::test]
async fn it_does_not_take_the_account_over() {
    let (world, token, _) = let_in().await;

    for (method, path) in in_person() {
        let call = world.api.call(method, &path).json(&json!({}));
        let reply = call.bearer(&token).await;
        reply.refuses(403, "no_authorization");
    }
    let body = json!({ "id_token": "x", "provider": "google", "link_identity": true });
    let link = world.api.post("/token?grant_type=id_token", body);
    let reply = link.bearer(&token).await;
    reply.refuses(403, "no_authorization");
}

/// It is signed with the same key and names the same subject, and is for the application's eyes.
#[tokio::test]
async fn an_id_token_is_no_way_in() {
    let world = World::new().await;
    let code = world.code("openid email").await;
    let tokens = world.exchange(&code).await.ok();
    let id_token = tokens["id_token"].as_str().expect("an ID token");

    let mut calls = in_person();
    calls.extend([
        (Method::GET, "/user".to_owned()),
        (Method::GET, "/oauth/userinfo".to_owned()),
        (Method::POST, "/logout?scope=global".to_owned()),
    ]);
    for (method, path) in calls {
        let body = json!({ "password": "taken over" });
        let call = world.api.call(method, &path).json(&body);
        call.bearer(id_token).await.refuses(403, "bad_jwt");
    }
    let body = json!({ "id_token": "x", "provider": "google", "link_identity": true });
    let link = world.api.post("/token?grant_type=id_token", body);
    link.bearer(id_token).await.refuses(403, "bad_jwt");
    let admin = world.api.get("/admin/users").bearer(id_token).await;
    admin.refuses(403, "not_admin");

    world.api.get("/user").session(&world.user).await.ok();
    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let sign_in = world.api.post("/token?grant_type=password", body);
    sign_in.await.ok();
}

#[tokio::test]
async fn it_signs_out_itself_alone() {
    for scope in ["", "?scope=global", "?scope=local", "?scope=others"] {
        let (world, token, _) = let_in().await;

        let logout = format!("/logout{scope}");
        let reply = world.api.post(&logout, json!({})).bearer(&token).await;

        assert_eq!(reply.status, 204, "{reply:?}");
        let reply = world.api.get("/user").bearer(&token).await;
        reply.refuses(403, "session_not_found");
        world.api.get("/user").session(&world.user).await.ok();
    }
}

#[tokio::test]
async fn turning_it_out_voids_its_code_too() {
    let (world, _, _) = let_in().await;
    let code = {
        let id = world.ask("email").await;
        let answer = world.show(&id).await.ok();
        super::parameter(&answer["redirect_url"], "code").expect("a code")
    };
    let path = format!("/user/oauth/grants?client_id={}", world.client_id());
    let reply = world.api.delete(&path).session(&world.user).await;
    assert_eq!(reply.status, 204, "{reply:?}");

    fails(&world.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn a_user_who_is_gone_lets_nobody_in() {
    let world = World::new().await;
    let code = world.code("email").await;
    let id = world.user["user"]["id"].as_str().expect("an id");
    let call = world.api.delete(&format!("/admin/users/{id}"));
    let call = call.json(&json!({ "should_soft_delete": true }));
    call.service_role().await.ok();

    fails(&world.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn a_refresh_that_fails_is_told_as_oauth_has_it() {
    let (world, _, refresh) = let_in().await;
    let ask = async |token: &str| {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        world.token(&form).await
    };

    fails(&ask("not a token").await, "invalid_grant");
    fails(&ask("aaaaaaaaaaaa").await, "invalid_grant");
    let own = world.user["refresh_token"].as_str().expect("a token");
    fails(&ask(own).await, "invalid_client");
    let next = ask(&refresh).await.ok();
    let next = next["refresh_token"].as_str().expect("a token");
    ask(next).await.ok();
    world.api.advance(Duration::from_secs(60));
    fails(&ask(&refresh).await, "invalid_grant");
}

#[tokio::test]
async fn questions_are_limited_and_do_not_stay() {
    let world = World::new().await;
    for _ in 0..30 {
        world.ask("email").await;
    }

    let reply = world.authorize(&[]).await;

    reply.refuses(429, "over_request_rate_limit");
    let rows = "select count(*) from auth.oauth_authorizations";
    assert_eq!(world.api.count(rows).await, 30);
    world.api.advance(Duration::from_secs(25 * 3600));
    world.api.clean_up().await;
    assert_eq!(world.api.count(rows).await, 0);
}
