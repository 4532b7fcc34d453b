//! Personal access tokens over the API: what they may do, and where.

mod support;

use axum::body::Body;
use http::{Method, Request};
use plinth_platform::{BranchRequest, TokenLimits};
use plinth_project::{ProjectName, ProjectRef};
use plinth_token::Secret;
use serde_json::{Value, json};
use support::TestPlatform;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

struct Caller<'a> {
    app: &'a TestPlatform,
    token: Secret,
}

impl Caller<'_> {
    #[track_caller]
    fn ask(
        &self,
        method: Method,
        uri: &str,
        body: Value,
        status: u16,
    ) -> impl Future<Output = Value> {
        let request = Request::builder()
            .method(method.clone())
            .uri(uri)
            .header("authorization", format!("Bearer {}", self.token.expose()))
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .expect("a request");
        let asked = format!("{method} {uri}");
        async move {
            let answer = self.app.send(request).await;
            let text = String::from_utf8_lossy(&answer.bytes).into_owned();
            assert_eq!(answer.status, status, "{asked}: {text}");
            answer.json()
        }
    }

    async fn get(&self, uri: &str, status: u16) -> Value {
        self.ask(Method::GET, uri, Value::Null, status).await
    }

    async fn post(&self, uri: &str, body: Value, status: u16) -> Value {
        self.ask(Method::POST, uri, body, status).await
    }
}

async fn caller(app: &TestPlatform, limits: TokenLimits) -> Caller<'_> {
    let (_, token) = app.token_with("ci", limits).await;
    Caller { app, token }
}

fn scopes(names: &[&str]) -> TokenLimits {
    TokenLimits {
        scopes: Some(names.iter().map(|&name| name.to_owned()).collect()),
        ..TokenLimits::default()
    }
}

fn read_only() -> TokenLimits {
    TokenLimits {
        read_only: true,
        ..TokenLimits::default()
    }
}

fn bound_to(project: &ProjectRef) -> TokenLimits {
    TokenLimits {
        projects: Some(vec![project.clone()]),
        ..TokenLimits::default()
    }
}

#[tokio::test]
async fn a_token_is_shown_once_and_ends_when_it_is_revoked() {
    let app = TestPlatform::start().await;
    let (token, text) = app.token("ci").await;
    assert!(text.expose().starts_with("sbp_") && text.expose().len() == 44);
    let seen = app
        .ask(Method::GET, "/platform/tokens", None)
        .await
        .expect(200);
    assert_eq!(seen[0]["name"], "ci");
    assert!(!seen.to_string().contains(text.expose()));

    let uri = format!("/platform/tokens/{}", token.id);
    app.ask(Method::DELETE, &uri, None).await.expect(200);

    app.ask(Method::DELETE, &uri, None).await.expect(404);
    assert!(app.platform.list_tokens().await.expect("a list").is_empty());
}

#[tokio::test]
async fn a_token_sees_and_revokes_itself_alone() {
    let app = TestPlatform::start().await;
    let (own, token) = app.token("ci").await;
    let (other, _) = app.token("laptop").await;
    let caller = Caller { app: &app, token };

    let seen = caller.get("/platform/tokens", 200).await;
    assert_eq!(seen.as_array().map(Vec::len), Some(1));
    assert_eq!(seen[0]["id"], own.id.to_string());
    let revoke = async |name: &str, status| {
        let uri = format!("/platform/tokens/{name}");
        caller.ask(Method::DELETE, &uri, Value::Null, status).await
    };
    revoke(&other.id.to_string(), 403).await;
    revoke("laptop", 403).await;
    revoke("ci", 200).await;

    caller.get("/platform/tokens", 401).await;
    let left = app.platform.list_tokens().await.expect("a list");
    let left: Vec<_> = left.iter().map(|token| token.id).collect();
    assert_eq!(left, [other.id]);
}

#[tokio::test]
async fn a_token_does_what_its_scopes_say_and_nothing_else() {
    let app = TestPlatform::start().await;
    let project = app.reference(&ProjectName::Default).await;
    let base = format!("/v1/projects/{project}");
    let limits = scopes(&["edge_functions_read", "api_gateway_keys_read"]);
    let caller = caller(&app, limits).await;

    caller.get("/v1/profile", 200).await;
    caller.get(&format!("{base}/functions"), 200).await;
    let keys = caller.get(&format!("{base}/api-keys"), 200).await;
    assert!(keys.to_string().contains('·'), "secret keys are masked");

    let refused = caller.get(&format!("{base}/secrets"), 403).await;
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(
        message.ends_with("the scope edge_functions_secrets_read"),
        "{message}"
    );
    let refused = caller
        .get(&format!("{base}/api-keys?reveal=true"), 403)
        .await;
    assert!(refused.to_string().contains("api_gateway_keys_secret_read"));
    let own = format!("/platform/projects/{project}");
    for uri in [
        "/v1/projects",
        "/v1/organizations",
        base.as_str(),
        &format!("{base}/branches"),
        &format!("{base}/database/migrations"),
        &format!("{base}/config/auth/signing-keys"),
        &format!("{own}/database"),
        &format!("{own}/mailbox"),
        &format!("{own}/logs"),
        "/platform/status",
        "/platform/doctor",
        "/platform/jobs",
    ] {
        caller.get(uri, 403).await;
    }
    let delete = format!("{base}/functions/hello");
    caller.ask(Method::DELETE, &delete, Value::Null, 403).await;
    caller
        .post(
            &format!("{own}/bearer-jwt"),
            json!({ "role": "service_role" }),
            403,
        )
        .await;
}

#[tokio::test]
async fn a_read_only_token_changes_nothing_and_sees_no_secrets() {
    let app = TestPlatform::start().await;
    let project = app.reference(&ProjectName::Default).await;
    let base = format!("/v1/projects/{project}");
    let own = format!("/platform/projects/{project}");
    let caller = caller(&app, read_only()).await;

    for uri in [
        "/v1/projects",
        "/platform/jobs",
        &format!("{base}/secrets"),
        &format!("{own}/logs"),
    ] {
        caller.get(uri, 200).await;
    }
    caller
        .post(&format!("{base}/network-bans/retrieve"), json!({}), 201)
        .await;

    for uri in [
        "/platform/status",
        &format!("{base}/api-keys?reveal=true"),
        &format!("{own}/database"),
        &format!("{own}/mailbox"),
    ] {
        let refused = caller.get(uri, 403).await;
        assert!(refused.to_string().contains("read-only"), "{refused}");
    }
    let secrets = format!("{base}/secrets");
    let body = json!([{ "name": "A", "value": "b" }]);
    caller.post(&secrets, body, 403).await;
    caller
        .post("/v1/projects", json!({ "name": "Shop" }), 403)
        .await;
    caller.post(&format!("{base}/pause"), json!({}), 403).await;
    let listed = caller.get(&secrets, 200).await;
    assert!(!listed.to_string().contains("\"A\""));
}

#[tokio::test]
async fn a_bound_token_reaches_its_projects_and_their_branches() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let shop = app.reference(&name).await;
    let other = app.reference(&ProjectName::Default).await;
    let request = BranchRequest {
        name: "preview".to_owned(),
        ..BranchRequest::default()
    };
    let branch = app
        .platform
        .create_branch(&name, &request)
        .await
        .expect("a branch");
    let foreign = app
        .platform
        .create_branch(&ProjectName::Default, &request)
        .await
        .expect("a branch");
    let caller = caller(&app, bound_to(&shop)).await;

    for within in [&shop, &branch.reference] {
        caller
            .get(&format!("/v1/projects/{within}/functions"), 200)
            .await;
    }
    caller
        .get(&format!("/v1/branches/{}", branch.id), 200)
        .await;
    let listed = caller.get("/v1/projects", 200).await;
    assert!(listed.to_string().contains(shop.as_str()));
    assert!(!listed.to_string().contains(other.as_str()));
    let jobs = caller.get("/platform/jobs", 200).await;
    assert!(!jobs.to_string().contains(foreign.reference.as_str()));

    for beyond in [&other, &foreign.reference] {
        caller.get(&format!("/v1/projects/{beyond}"), 403).await;
        caller
            .get(&format!("/v1/projects/{beyond}/functions"), 403)
            .await;
        caller
            .get(&format!("/platform/projects/{beyond}/logs"), 403)
            .await;
        caller
            .get(&format!("/platform/status?project={beyond}"), 403)
            .await;
    }
    let delete = format!("/v1/branches/{}", foreign.id);
    caller.get(&delete, 403).await;
    caller.ask(Method::DELETE, &delete, Value::Null, 403).await;
    caller
        .get("/platform/projects/default/functions/hello/versions", 403)
        .await;
    caller
        .post("/v1/projects", json!({ "name": "Another" }), 403)
        .await;
    caller
        .post("/v1/organizations", json!({ "name": "Another" }), 403)
        .await;
    caller.get("/platform/doctor", 403).await;
}

#[tokio::test]
async fn a_token_makes_tokens_only_when_it_may_and_none_above_itself() {
    let app = TestPlatform::start().await;
    let whole = caller(&app, TokenLimits::default()).await;
    whole
        .post("/platform/tokens", json!({ "name": "child" }), 403)
        .await;

    let ends = OffsetDateTime::now_utc() + Duration::HOUR;
    let ends = ends.replace_nanosecond(0).expect("a time");
    let at = |at: OffsetDateTime| at.format(&Rfc3339).expect("a time");
    let parent = json!({
        "name": "parent", "scopes": ["access_tokens_write", "projects_read"], "expires_at": at(ends),
    });
    let made = app
        .ask(
            Method::POST,
            "/platform/tokens",
            support::functions::json_body(parent),
        )
        .await
        .expect(201);
    let token = Secret::new(made["token"].as_str().expect("a token"));
    let caller = Caller { app: &app, token };
    let child = |scopes: &[&str], expires_at| json!({ "name": "child", "scopes": scopes, "expires_at": at(expires_at) });

    for more in [
        child(&["projects_read", "database_write"], ends),
        child(&["projects_read"], ends + Duration::HOUR),
        json!({ "name": "child", "expires_at": at(ends) }),
        json!({ "name": "child", "scopes": ["projects_read"] }),
    ] {
        caller.post("/platform/tokens", more, 403).await;
    }
    let made = caller
        .post("/platform/tokens", child(&["projects_read"], ends), 201)
        .await;
    assert_eq!(made["scopes"], json!(["projects_read"]));
    assert_eq!(made["read_only"], false);
    assert_eq!(made["projects"], Value::Null);
}

#[tokio::test]
async fn limits_that_cannot_be_are_refused_in_words() {
    let app = TestPlatform::start().await;
    let ask = async |body: Value, status: u16| {
        let sent = support::functions::json_body(body);
        let answer = app.ask(Method::POST, "/platform/tokens", sent).await;
        answer.expect(status)["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };

    let unknown = json!({ "name": "a", "scopes": ["edge_functions_deploy"] });
    assert!(ask(unknown, 400).await.contains("edge_functions_write"));
    assert!(
        ask(json!({ "name": "a", "scopes": [] }), 400)
            .await
            .contains("leave scopes out")
    );
    assert!(
        ask(json!({ "name": "a", "projects": [] }), 400)
            .await
            .contains("leave projects out")
    );
    ask(json!({ "name": "a", "projects": ["nonsense"] }), 404).await;
    ask(
        json!({ "name": "a", "projects": ["abcdefghijklmnopqrst"] }),
        404,
    )
    .await;
    ask(json!({ "name": "a", "projects": ["platform"] }), 400).await;
    ask(
        json!({ "name": "a", "read_only": true, "scopes": ["database_write"] }),
        400,
    )
    .await;
    ask(json!({ "name": "a", "scopes": "all" }), 400).await;
    assert!(app.platform.list_tokens().await.expect("a list").is_empty());
}
