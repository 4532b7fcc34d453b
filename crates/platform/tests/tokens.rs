//! Personal access tokens over the API: what they may do, and where.

mod support;

use axum::body::Body;
use http::{Method, Request};
use plinth_platform::{BranchRequest, TokenLimits, TokenRequest};
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
    fn request(
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
            let response = self.app.send(request).await;
            assert_eq!(response.status, status, "{asked}: {response:?}");
            serde_json::from_slice(&response.body).unwrap_or_default()
        }
    }

    async fn get(&self, uri: &str, status: u16) -> Value {
        self.request(Method::GET, uri, Value::Null, status).await
    }

    async fn post(&self, uri: &str, body: Value, status: u16) -> Value {
        self.request(Method::POST, uri, body, status).await
    }
}

/// The platform's own tables.
async fn tables(app: &TestPlatform) -> tokio_postgres::Client {
    let zero = plinth_testkit::TestServer::shared().await.admin();
    let zero = zero.database(app.platform.references().platform.as_str());
    zero.connect().await.expect("project zero")
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
        .request(Method::GET, "/platform/tokens", None)
        .await
        .ok();
    assert_eq!(seen[0]["name"], "ci");
    assert!(!seen.to_string().contains(text.expose()));

    let uri = format!("/platform/tokens/{}", token.id);
    app.request(Method::DELETE, &uri, None)
        .await
        .expect_status(200);

    app.request(Method::DELETE, &uri, None)
        .await
        .expect_status(404);
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
        caller
            .request(Method::DELETE, &uri, Value::Null, status)
            .await
    };
    // It does not even learn of them.
    revoke(&other.id.to_string(), 404).await;
    revoke("laptop", 404).await;
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

    let rejected = caller.get(&format!("{base}/secrets"), 403).await;
    let message = rejected["message"].as_str().unwrap_or_default();
    assert!(
        message.ends_with("the scope edge_functions_secrets_read"),
        "{message}"
    );
    let rejected = caller
        .get(&format!("{base}/api-keys?reveal=true"), 403)
        .await;
    assert!(
        rejected
            .to_string()
            .contains("api_gateway_keys_secret_read")
    );
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
    caller
        .request(Method::DELETE, &delete, Value::Null, 403)
        .await;
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

    let status = caller.get("/platform/status", 200).await;
    assert!(status["API_URL"].is_string() && status["ANON_KEY"].is_string());
    for secret in [
        "DB_URL",
        "SECRET_KEY",
        "SERVICE_ROLE_KEY",
        "JWT_SECRET",
        "S3_PROTOCOL_ACCESS_KEY_SECRET",
    ] {
        assert!(status[secret].is_null(), "{secret}");
    }
    for uri in [
        format!("{base}/api-keys?reveal=true"),
        format!("{own}/database"),
        format!("{own}/mailbox"),
    ] {
        let rejected = caller.get(&uri, 403).await;
        assert!(rejected.to_string().contains("read-only"), "{rejected}");
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
    for project in [&shop, &other] {
        let sql = "insert into platform.jobs (kind, project) values ('branch', $1)";
        let tables = tables(&app).await;
        let done = tables.execute(sql, &[&project.as_str()]).await;
        done.expect("a job");
    }
    let jobs = caller.get("/platform/jobs", 200).await;
    assert_eq!(jobs.as_array().map(Vec::len), Some(1), "{jobs}");
    assert_eq!(jobs[0]["project"], shop.as_str());
    let all = app.request(Method::GET, "/platform/jobs", None).await.ok();
    for job in all.as_array().expect("a list") {
        let status = if job["project"] == shop.as_str() {
            200
        } else {
            404
        };
        let uri = format!("/platform/jobs/{}", job["id"].as_str().expect("an id"));
        caller.get(&uri, status).await;
    }

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
    caller
        .request(Method::DELETE, &delete, Value::Null, 403)
        .await;
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

/// Every route of a project, with that project's ref in it.
fn routes_of(project: &ProjectRef) -> Vec<String> {
    let source = include_str!("../src/api/mod.rs");
    let own = source.find("fn platform_routes").expect("a function");
    let mut routes = Vec::new();
    for (at, _) in source.match_indices("\"/projects/{ref}") {
        let rest = source[at + 1..].split('"').next().expect("a text");
        let prefix = if at < own { "/v1" } else { "/platform" };
        let rest = rest.replace("{ref}", project.as_str());
        let rest = rest.replace("{id}", "00000000-0000-0000-0000-000000000000");
        let rest = rest.replace(['{', '}'], "");
        routes.push(format!("{prefix}{rest}"));
    }
    routes
}

#[tokio::test]
async fn no_route_of_another_project_is_within_reach() {
    let app = TestPlatform::start().await;
    let shop = app.reference(&app.project("Shop").await).await;
    let other = app.reference(&ProjectName::Default).await;
    let bound = caller(&app, bound_to(&shop)).await;
    let looks = caller(&app, read_only()).await;
    let routes = routes_of(&other);
    assert!(routes.len() > 30, "{routes:?}");

    for uri in routes {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let method: Method = method.parse().expect("a method");
            let request = |caller: &Caller<'_>| {
                let request = Request::builder()
                    .method(method.clone())
                    .uri(&uri)
                    .header("authorization", format!("Bearer {}", caller.token.expose()))
                    .header("content-type", "application/json");
                request.body(Body::from("{}")).expect("a request")
            };
            let response = app.send(request(&bound)).await;
            let status = response.status.as_u16();
            // The body may be rejected before the project is checked.
            let expected: &[u16] = match method {
                Method::GET => &[403, 404],
                _ => &[400, 403, 404],
            };
            assert!(expected.contains(&status), "{method} {uri}: {status}");
            if method != Method::GET && !uri.ends_with("/network-bans/retrieve") {
                let status = app.send(request(&looks)).await.status.as_u16();
                assert!([403, 404].contains(&status), "{method} {uri}: {status}");
            }
        }
    }
}

#[tokio::test]
async fn keys_are_made_by_those_who_may_not_see_them() {
    let app = TestPlatform::start().await;
    let project = app.reference(&ProjectName::Default).await;
    let keys = format!("/v1/projects/{project}/api-keys");
    let own = format!("/platform/projects/{project}");
    let limits = scopes(&["api_gateway_keys_write", "storage_config_write"]);
    let makes = caller(&app, limits).await;
    let whole = caller(&app, TokenLimits::default()).await;
    let key = |name| json!({ "type": "secret", "name": name });

    let made = makes.post(&keys, key("first"), 201).await;
    assert!(
        made["api_key"].as_str().expect("a text").contains('·'),
        "{made}"
    );
    let rotated = json!({ "what": "legacy" });
    let rotated = makes
        .post(&format!("{own}/keys/rotate"), rotated, 200)
        .await;
    assert!(rotated["service_role"].is_null() && rotated["anon"].is_string());
    let s3 = format!("{own}/storage/credentials");
    makes.post(&s3, json!({ "description": "x" }), 403).await;

    let made = whole.post(&keys, key("second"), 201).await;
    assert!(
        made["api_key"]
            .as_str()
            .expect("a text")
            .starts_with("sb_secret_")
    );
    assert!(!made.to_string().contains('·'));
}

#[tokio::test]
async fn a_live_tail_ends_with_its_token() {
    let app = TestPlatform::start().await;
    let request = TokenRequest {
        name: "short".to_owned(),
        expires_at: Some(OffsetDateTime::now_utc() + Duration::seconds(6)),
        ..TokenRequest::default()
    };
    let (_, token) = app.platform.create_token(&request).await.expect("a token");
    let caller = Caller { app: &app, token };

    // It is read to its end.
    let tail = caller.get("/platform/projects/default/logs/tail", 200);
    let tail = tokio::time::timeout(std::time::Duration::from_secs(60), tail).await;
    tail.expect("it ends");

    caller.get("/v1/profile", 401).await;
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
        .request(
            Method::POST,
            "/platform/tokens",
            support::functions::json_body(parent),
        )
        .await
        .expect_status(201)
        .json();
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
    let grandchild = json!({
        "name": "grandchild", "scopes": ["access_tokens_write"], "expires_at": at(ends),
    });
    let maker = caller.post("/platform/tokens", grandchild, 201).await;
    let token = Secret::new(maker["token"].as_str().expect("a token"));
    let maker = Caller { app: &app, token };
    let last = json!({ "name": "last", "scopes": ["access_tokens_write"], "expires_at": at(ends) });
    maker.post("/platform/tokens", last, 201).await;
    assert_eq!(app.platform.list_tokens().await.expect("a list").len(), 5);

    // As if they had been made while the first of them was revoked.
    let tables = tables(&app).await;
    let set = async |revoked_at: &str| {
        let sql =
            format!("update platform.tokens set revoked_at = {revoked_at} where name = 'parent'");
        tables.execute(&sql, &[]).await.expect("a revoked one");
    };
    set("now()").await;
    maker.get("/v1/profile", 401).await;
    assert_eq!(app.platform.list_tokens().await.expect("a list").len(), 1);
    set("null").await;
    maker.get("/v1/profile", 200).await;

    app.request(Method::DELETE, "/platform/tokens/parent", None)
        .await
        .expect_status(200);

    maker.get("/v1/profile", 401).await;
    let left = app.platform.list_tokens().await.expect("a list");
    assert_eq!(left.len(), 1, "what it made has gone with it: {left:?}");
}

#[tokio::test]
async fn limits_that_cannot_be_are_rejected_in_words() {
    let app = TestPlatform::start().await;
    let ask = async |body: Value, status: u16| {
        let sent = support::functions::json_body(body);
        let response = app.request(Method::POST, "/platform/tokens", sent).await;
        response.expect_status(status).json()["message"]
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
    let many: Vec<String> = (0..101).map(|n| format!("{n}")).collect();
    assert!(
        ask(json!({ "name": "a", "scopes": many }), 400)
            .await
            .contains("at most 100")
    );
    ask(
        json!({ "name": "7b0c2b1e-5b7e-4a53-9d2c-0b2f6a1e0c11" }),
        400,
    )
    .await;
    for time in [
        "9999-12-31T23:59:59-23:59",
        "0000-01-01T00:00:00+23:59",
        "2020-01-01T00:00:00Z",
        "tomorrow",
        "",
    ] {
        ask(json!({ "name": "a", "expires_at": time }), 400).await;
    }
    assert!(app.platform.list_tokens().await.expect("a list").is_empty());
}
