//! Authorization requests and the user's decision.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Fixture, URI, expect_oauth_error, parameter};
use crate::support::{Api, AuthCall, AuthReply, Requests, Sql};

#[tokio::test]
async fn untrusted_clients_get_no_redirect() {
    let fixture = Fixture::new().await;
    let expect_error = async |changes: &[(&str, &str)], code: &str| {
        fixture.authorize(changes).await.expect_error(400, code);
    };
    expect_error(&[("client_id", "")], "validation_failed").await;
    expect_error(&[("redirect_uri", "")], "validation_failed").await;
    expect_error(&[("client_id", "x")], "oauth_client_not_found").await;
    let unknown = "5b0c8f3e-1111-4222-8333-444455556666";
    expect_error(&[("client_id", unknown)], "oauth_client_not_found").await;
    for uri in [
        "https://evil.test/callback",
        "https://app.example/callback",
        "https://app.example/callback?kept=1&more=1",
        "https://app.example/callback?kept=1#x",
        "HTTPS://app.example/callback?kept=1",
    ] {
        expect_error(&[("redirect_uri", uri)], "validation_failed").await;
    }
}

#[tokio::test]
async fn other_errors_are_redirected_to_the_application() {
    let fixture = Fixture::new().await;
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
        let reply = fixture.authorize(&changes).await;
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
    assert_eq!(fixture.api.count(sql).await, 0);
}

#[tokio::test]
async fn the_default_scope_is_the_address() {
    let fixture = Fixture::new().await;
    let reply = fixture.authorize(&[]).await;
    let (_, id) = reply.location().split_once('=').expect("an id");

    assert_eq!(fixture.show(id).await.ok()["scope"], "email");
}

#[tokio::test]
async fn a_denial_is_redirected_to_the_application() {
    let fixture = Fixture::new().await;
    let id = fixture.begin("email").await;
    fixture.show(&id).await.ok();

    let response = fixture.decide(&id, "deny").await.ok();

    let url = &response["redirect_url"];
    assert_eq!(parameter(url, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(url, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(url, "code"), None);
    fixture
        .show(&id)
        .await
        .expect_error(400, "validation_failed");
    let reply = fixture.decide(&id, "approve").await;
    reply.expect_error(400, "validation_failed");
    assert_eq!(
        fixture
            .api
            .count("select count(*) from auth.oauth_consents")
            .await,
        0
    );
}

#[tokio::test]
async fn an_authorization_belongs_to_the_first_user_who_opens_it() {
    let fixture = Fixture::new().await;
    let eve = fixture.api.sign_up("eve@mail.dev", "correct horse").await;
    let id = fixture.begin("email").await;
    let path = format!("/oauth/authorizations/{id}");

    let unseen = fixture.decide(&id, "approve").await;
    unseen.expect_error(404, "oauth_authorization_not_found");
    fixture.show(&id).await.ok();
    let reply = fixture.api.get(&path).session(&eve).await;
    reply.expect_error(404, "oauth_authorization_not_found");
    let consent = json!({ "action": "approve" });
    let reply = fixture.api.post(&format!("{path}/consent"), consent);
    let reply = reply.session(&eve).await;
    reply.expect_error(404, "oauth_authorization_not_found");
    fixture
        .api
        .get(&path)
        .await
        .expect_error(401, "no_authorization");
    fixture
        .show("unknown")
        .await
        .expect_error(404, "oauth_authorization_not_found");
    fixture
        .show("%ff")
        .await
        .expect_error(404, "oauth_authorization_not_found");
    let reply = fixture.decide(&id, "perhaps").await;
    reply.expect_error(400, "validation_failed");
}

#[tokio::test]
async fn pages_of_other_sites_cannot_decide() {
    let fixture = Fixture::new().await;
    let id = fixture.begin("email").await;
    let path = format!("/oauth/authorizations/{id}");

    let call = fixture.api.get(&path).session(&fixture.user);
    let reply = call.header("origin", "https://evil.test").await;
    reply.expect_error(400, "validation_failed");
    let call = fixture.api.get(&path).session(&fixture.user);
    call.header("origin", "http://localhost:3000").await.ok();
}

#[tokio::test]
async fn an_application_cannot_decide_for_its_user() {
    let fixture = Fixture::new().await;
    let code = fixture.code("email").await;
    let tokens = fixture.exchange(&code).await.ok();
    let id = fixture.begin("email phone").await;

    let path = format!("/oauth/authorizations/{id}");
    let reply = fixture.api.get(&path).session(&tokens).await;
    reply.expect_error(403, "no_authorization");
    fixture.show(&id).await.ok();
    let consent = json!({ "action": "approve" });
    let call = fixture.api.post(&format!("{path}/consent"), consent);
    call.session(&tokens)
        .await
        .expect_error(403, "no_authorization");
}

#[tokio::test]
async fn an_authorization_expires_after_ten_minutes() {
    let fixture = Fixture::new().await;
    let id = fixture.begin("email").await;
    let code = fixture.code("email phone").await;
    fixture.api.advance(Duration::from_secs(601));

    fixture
        .show(&id)
        .await
        .expect_error(404, "oauth_authorization_not_found");
    expect_oauth_error(&fixture.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn granted_scopes_need_no_second_consent() {
    let fixture = Fixture::new().await;
    fixture.code("email profile").await;

    let id = fixture.begin("email").await;
    let answered = fixture.show(&id).await.ok();
    let code = parameter(&answered["redirect_url"], "code").expect("a code");
    fixture.exchange(&code).await.ok();

    let id = fixture.begin("email phone").await;
    assert_eq!(fixture.show(&id).await.ok()["scope"], "email phone");
}

/// Without a consent page, no user can be asked.
#[tokio::test]
async fn a_project_without_a_page_for_it_says_so_to_the_application() {
    let settings = [
        ("auth.oauth_server.enabled", "true"),
        ("auth.oauth_server.authorization_url_path", ""),
    ];
    let fixture = Fixture::over(Api::start(&settings).await).await;

    let reply = fixture.authorize(&[]).await;

    assert_eq!(reply.status, 302, "{reply:?}");
    assert!(reply.location().starts_with(URI), "{reply:?}");
    let location = Value::from(reply.location());
    let parameter = |name| parameter(&location, name);
    assert_eq!(parameter("error").as_deref(), Some("server_error"));
    assert_eq!(parameter("state").as_deref(), Some("st&te"));
    assert_eq!(parameter("code"), None);
    let sql = "select count(*) from auth.oauth_authorizations";
    assert_eq!(fixture.api.count(sql).await, 0);
}

#[tokio::test]
async fn looking_asks_for_nothing() {
    let fixture = Fixture::new().await;
    let path = format!("/oauth/authorize?client_id={}", fixture.client_id());

    let reply = fixture.api.call(http::Method::HEAD, &path).await;

    assert_eq!(reply.status, 200, "{reply:?}");
    let rows = "select count(*) from auth.oauth_authorizations";
    assert_eq!(fixture.api.count(rows).await, 0);
}
