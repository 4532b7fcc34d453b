//! Asking for access, and the user's answer.

use std::time::Duration;

use serde_json::{Value, json};

use super::{URI, World, fails, parameter};
use crate::support::Api;

#[tokio::test]
async fn who_cannot_be_trusted_is_told_here() {
    let world = World::new().await;
    let refuses = async |changes: &[(&str, &str)], code: &str| {
        world.authorize(changes).await.refuses(400, code);
    };
    refuses(&[("client_id", "")], "validation_failed").await;
    refuses(&[("redirect_uri", "")], "validation_failed").await;
    refuses(&[("client_id", "x")], "oauth_client_not_found").await;
    let unknown = "5b0c8f3e-1111-4222-8333-444455556666";
    refuses(&[("client_id", unknown)], "oauth_client_not_found").await;
    for uri in [
        "https://evil.test/callback",
        "https://app.example/callback",
        "https://app.example/callback?kept=1&more=1",
        "https://app.example/callback?kept=1#x",
        "HTTPS://app.example/callback?kept=1",
    ] {
        refuses(&[("redirect_uri", uri)], "validation_failed").await;
    }
}

#[tokio::test]
async fn other_mistakes_are_told_to_the_application() {
    let world = World::new().await;
    let long = "x".repeat(5000);
    for changes in [
        vec![("code_challenge", "")],
        vec![("code_challenge_method", "")],
        vec![("code_challenge", ""), ("code_challenge_method", "")],
        vec![("code_challenge_method", "md5")],
        vec![("code_challenge", "short")],
        vec![("response_type", "token")],
        vec![("scope", "email admin")],
        vec![("resource", "/relative")],
        vec![("nonce", long.as_str())],
        vec![("resource", "https://a.test\0")],
    ] {
        let reply = world.authorize(&changes).await;
        assert_eq!(reply.status, 302, "{changes:?}: {reply:?}");
        let location = Value::from(reply.location());
        assert!(reply.location().starts_with(URI), "{location}");
        let error = parameter(&location, "error");
        assert_eq!(error.as_deref(), Some("invalid_request"), "{changes:?}");
        assert!(parameter(&location, "error_description").is_some());
        let state = parameter(&location, "state");
        assert_eq!(state.as_deref(), Some("st&te"), "{changes:?}");
    }
    let sql = "select count(*) from auth.oauth_authorizations";
    assert_eq!(world.api.count(sql).await, 0);
}

#[tokio::test]
async fn the_default_scope_is_the_address() {
    let world = World::new().await;
    let reply = world.authorize(&[]).await;
    let (_, id) = reply.location().split_once('=').expect("an id");

    assert_eq!(world.show(id).await.ok()["scope"], "email");
}

#[tokio::test]
async fn a_no_is_told_to_the_application() {
    let world = World::new().await;
    let id = world.ask("email").await;
    world.show(&id).await.ok();

    let answer = world.decide(&id, "deny").await.ok();

    let url = &answer["redirect_url"];
    assert_eq!(parameter(url, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(url, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(url, "code"), None);
    world.show(&id).await.refuses(400, "validation_failed");
    let reply = world.decide(&id, "approve").await;
    reply.refuses(400, "validation_failed");
    assert_eq!(
        world
            .api
            .count("select count(*) from auth.oauth_consents")
            .await,
        0
    );
}

#[tokio::test]
async fn a_question_belongs_to_whoever_saw_it_first() {
    let world = World::new().await;
    let eve = world.api.sign_up("eve@mail.dev", "correct horse").await;
    let id = world.ask("email").await;
    let path = format!("/oauth/authorizations/{id}");

    let unseen = world.decide(&id, "approve").await;
    unseen.refuses(404, "oauth_authorization_not_found");
    world.show(&id).await.ok();
    let reply = world.api.get(&path).session(&eve).await;
    reply.refuses(404, "oauth_authorization_not_found");
    let consent = json!({ "action": "approve" });
    let reply = world.api.post(&format!("{path}/consent"), consent);
    let reply = reply.session(&eve).await;
    reply.refuses(404, "oauth_authorization_not_found");
    world.api.get(&path).await.refuses(401, "no_authorization");
    world
        .show("unknown")
        .await
        .refuses(404, "oauth_authorization_not_found");
    world
        .show("%ff")
        .await
        .refuses(404, "oauth_authorization_not_found");
    let reply = world.decide(&id, "perhaps").await;
    reply.refuses(400, "validation_failed");
}

#[tokio::test]
async fn pages_of_other_sites_cannot_answer() {
    let world = World::new().await;
    let id = world.ask("email").await;
    let path = format!("/oauth/authorizations/{id}");

    let call = world.api.get(&path).session(&world.user);
    let reply = call.header("origin", "https://evil.test").await;
    reply.refuses(400, "validation_failed");
    let call = world.api.get(&path).session(&world.user);
    call.header("origin", "http://localhost:3000").await.ok();
}

#[tokio::test]
async fn an_application_cannot_answer_for_its_user() {
    let world = World::new().await;
    let code = world.code("email").await;
    let tokens = world.exchange(&code).await.ok();
    let id = world.ask("email phone").await;

    let path = format!("/oauth/authorizations/{id}");
    let reply = world.api.get(&path).session(&tokens).await;
    reply.refuses(403, "no_authorization");
    world.show(&id).await.ok();
    let consent = json!({ "action": "approve" });
    let call = world.api.post(&format!("{path}/consent"), consent);
    call.session(&tokens).await.refuses(403, "no_authorization");
}

#[tokio::test]
async fn a_question_waits_ten_minutes() {
    let world = World::new().await;
    let id = world.ask("email").await;
    let code = world.code("email phone").await;
    world.api.advance(Duration::from_secs(601));

    world
        .show(&id)
        .await
        .refuses(404, "oauth_authorization_not_found");
    fails(&world.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn what_was_granted_is_not_asked_again() {
    let world = World::new().await;
    world.code("email profile").await;

    let id = world.ask("email").await;
    let answered = world.show(&id).await.ok();
    let code = parameter(&answered["redirect_url"], "code").expect("a code");
    world.exchange(&code).await.ok();

    let id = world.ask("email phone").await;
    assert_eq!(world.show(&id).await.ok()["scope"], "email phone");
}

/// Nobody can be asked where no page does the asking.
#[tokio::test]
async fn a_project_without_a_page_for_it_says_so_to_the_application() {
    let settings = [
        ("auth.oauth_server.enabled", "true"),
        ("auth.oauth_server.authorization_url_path", ""),
    ];
    let world = World::over(Api::start(&settings).await).await;

    let reply = world.authorize(&[]).await;

    assert_eq!(reply.status, 302, "{reply:?}");
    assert!(reply.location().starts_with(URI), "{reply:?}");
    let location = Value::from(reply.location());
    let parameter = |name| parameter(&location, name);
    assert_eq!(parameter("error").as_deref(), Some("server_error"));
    assert_eq!(parameter("state").as_deref(), Some("st&te"));
    assert_eq!(parameter("code"), None);
    let sql = "select count(*) from auth.oauth_authorizations";
    assert_eq!(world.api.count(sql).await, 0);
}

#[tokio::test]
async fn looking_asks_for_nothing() {
    let world = World::new().await;
    let path = format!("/oauth/authorize?client_id={}", world.client_id());

    let reply = world.api.call(http::Method::HEAD, &path).await;

    assert_eq!(reply.status, 200, "{reply:?}");
    let rows = "select count(*) from auth.oauth_authorizations";
    assert_eq!(world.api.count(rows).await, 0);
}
