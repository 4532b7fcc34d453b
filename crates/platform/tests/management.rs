//! The Management API as the official tools read it: what is absent is left out, health by service, and
//! warnings about what is no longer reachable.

mod support;

use http::Method;
use plinth_platform::{Check, Severity};
use plinth_project::ProjectName;
use serde_json::{Value, json};
use support::{TestPlatform, functions::json_body};

async fn get(app: &TestPlatform, uri: &str) -> Value {
    app.request(Method::GET, uri, None).await.ok()
}

/// The paths of all members that are null.
fn nulls(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::Null => vec![path.to_owned()],
        Value::Array(items) => items
            .iter()
            .flat_map(|item| nulls(item, &format!("{path}[]")))
            .collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| nulls(member, &format!("{path}.{name}")))
            .collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn what_is_absent_is_left_out() {
    let app = TestPlatform::start().await;
    let reference = app.reference(&ProjectName::Default).await;
    let project = format!("/v1/projects/{reference}");
    let create = |uri: String, body: Value| {
        let app = &app;
        async move { app.request(Method::POST, &uri, json_body(body)).await }
    };

    let branch = create(
        format!("{project}/branches"),
        json!({ "branch_name": "try" }),
    );
    let branch = branch.await.expect_status(201).json();
    let key = json!({ "type": "secret", "name": "backend" });
    let key = create(format!("{project}/api-keys"), key)
        .await
        .expect_status(201)
        .json();
    let signing = json!({ "algorithm": "HS256" });
    let signing = create(format!("{project}/config/auth/signing-keys"), signing).await;
    assert_eq!(nulls(&branch, ""), [""; 0], "{branch}");
    assert!(branch.get("git_branch").is_none(), "{branch}");
    assert_eq!(nulls(&key, ""), [""; 0], "{key}");
    assert_eq!(nulls(&signing.json(), ""), [""; 0]);

    for uri in [
        "/v1/profile",
        "/v1/organizations",
        "/v1/organizations/default",
        "/v1/organizations/default/members",
        "/v1/projects",
        &project,
        &format!("{project}/branches"),
        &format!("{project}/api-keys"),
        &format!("{project}/config/auth/signing-keys"),
        &format!("{project}/functions"),
        &format!("{project}/secrets"),
        &format!("{project}/health"),
    ] {
        let body = get(&app, uri).await;
        assert_eq!(nulls(&body, uri), [""; 0]);
    }
}

#[tokio::test]
async fn health_is_that_of_the_services_asked_for() {
    let app = TestPlatform::start().await;
    let reference = app.reference(&ProjectName::Default).await;
    let health = |query: &str| format!("/v1/projects/{reference}/health{query}");
    let names = |body: &Value| -> Vec<String> {
        let parts = body.as_array().expect("a list");
        let name = |part: &Value| part["name"].as_str().unwrap_or_default().to_owned();
        parts.iter().map(name).collect()
    };

    let asked = get(
        &app,
        &health("?services=rest&services=storage&services=pooler"),
    )
    .await;
    assert_eq!(names(&asked), ["rest", "storage", "pooler"]);
    let healthy = json!({ "name": "rest", "healthy": true, "status": "ACTIVE_HEALTHY" });
    assert_eq!(asked[0], healthy);
    let usual = get(&app, &health("")).await;
    assert_eq!(names(&usual), ["auth", "db", "realtime", "rest", "storage"]);
    let path = health("?services=mail");
    let unknown = app
        .request(Method::GET, &path, None)
        .await
        .expect_status(400)
        .json();
    assert!(
        unknown["message"]
            .to_string()
            .contains("There is no service mail")
    );

    let other = app.project("Other").await;
    app.platform.pause_project(&other).await.expect("paused");
    let other = app.reference(&other).await;
    let paused = get(&app, &format!("/v1/projects/{other}/health?services=db")).await;
    assert_eq!(paused[0]["healthy"], false);
    assert_eq!(paused[0]["status"], "UNHEALTHY");
    assert!(
        paused[0]["error"].to_string().contains("INACTIVE"),
        "{paused}"
    );
}

async fn find_check(app: &TestPlatform, name: &str) -> Option<Check> {
    let checks = app.platform.run_checks().await.expect("checked");
    checks.into_iter().find(|check| check.name == name)
}

#[tokio::test]
async fn revoking_the_last_publishable_key_warns() {
    let app = TestPlatform::start().await;
    let reference = app.reference(&ProjectName::Default).await;
    let keys = format!("/v1/projects/{reference}/api-keys");
    let revoke = async |key: &str| {
        let uri = format!("{keys}/{}", key.replace('/', "%2F"));
        app.request(Method::DELETE, &uri, None).await.ok()
    };
    let second = json!({ "type": "publishable", "name": "second" });
    app.request(Method::POST, &keys, json_body(second))
        .await
        .expect_status(201);

    let secret = revoke("secret/default").await;
    let first = revoke("publishable/second").await;
    let last = revoke("publishable/default").await;

    assert!(secret.get("warning").is_none() && first.get("warning").is_none());
    let warning = last["warning"].as_str().expect("a warning");
    assert!(warning.contains("last publishable key"), "{warning}");
    let check = find_check(&app, "publishable keys").await.expect("a check");
    assert_eq!(check.severity, Severity::Warning);
    assert!(
        check.message.contains(reference.as_str()),
        "{}",
        check.message
    );
}

#[tokio::test]
async fn parties_that_share_a_host_are_reported() {
    let app = TestPlatform::start().await;
    assert!(find_check(&app, "shared host").await.is_none());
    let check = find_check(&app, "publishable keys").await.expect("a check");
    assert_eq!(check.severity, Severity::Ok);

    let shop = json!({ "name": "Shop" });
    let shop = app.request(Method::POST, "/v1/organizations", json_body(shop));
    let slug = shop.await.expect_status(201).json()["slug"].clone();
    assert!(find_check(&app, "shared host").await.is_none());
    let project = json!({ "name": "Till", "organization_slug": slug });
    app.request(Method::POST, "/v1/projects", json_body(project))
        .await
        .expect_status(201);

    let check = find_check(&app, "shared host").await.expect("a check");
    assert_eq!(check.severity, Severity::Warning);
    assert!(check.fix.is_some_and(|fix| fix.contains("plinth.domain")));
}

#[tokio::test]
async fn a_branch_is_renamed_and_the_parent_is_the_branch_main() {
    let app = TestPlatform::start().await;
    let parent = app.reference(&ProjectName::Default).await;
    let branches = format!("/v1/projects/{parent}/branches");
    let create = async |name: &str| {
        let body = json!({ "branch_name": name });
        let made = app.request(Method::POST, &branches, json_body(body)).await;
        made.expect_status(201).json()
    };
    let (branch, other) = (create("try").await, create("other").await);
    let path = format!("/v1/branches/{}", branch["id"].as_str().expect("an id"));
    let update = async |path: &str, body: Value| {
        let sent = json_body(body);
        app.request(Method::PATCH, path, sent).await
    };

    let renamed = json!({ "branch_name": "renamed", "git_branch": "feature", "status": "x" });
    let renamed = update(&path, renamed).await.ok();
    assert_eq!(renamed["name"], "renamed");
    assert_eq!(renamed["git_branch"], "feature");
    assert_eq!(renamed["persistent"], false);
    let reference = branch["project_ref"].as_str().expect("a ref");
    let by_ref = format!("/v1/branches/{reference}");
    let kept = update(&by_ref, json!({ "persistent": true })).await.ok();
    assert_eq!(kept["name"], "renamed", "what is absent stays");
    assert_eq!(get(&app, &format!("{branches}/renamed")).await, kept);

    let taken = json!({ "branch_name": other["name"] });
    assert_eq!(update(&path, taken).await.status, 409);
    assert_eq!(
        update(&path, json!({ "branch_name": "" })).await.status,
        400
    );
    let main = format!("/v1/branches/{parent}");
    let rejected = update(&main, json!({ "branch_name": "x" })).await;
    assert_eq!(rejected.status, 404, "the parent is no branch");

    let listed = get(&app, &branches).await;
    assert_eq!(get(&app, &format!("{branches}/main")).await, listed[0]);
    assert_eq!(get(&app, &main).await["ref"], parent.as_str());
    let missing = format!("/v1/branches/{}", uuid::Uuid::nil());
    app.request(Method::GET, &missing, None)
        .await
        .expect_status(404);
}

#[tokio::test]
async fn the_pooler_is_the_database_port() {
    let app = TestPlatform::start().await;
    let reference = app.reference(&ProjectName::Default).await;

    let path = format!("/v1/projects/{reference}/config/database/pooler");
    let pooler = get(&app, &path).await;

    let url = pooler[0]["connection_string"].as_str().expect("a URL");
    let start = format!("postgresql://postgres.{reference}:[YOUR-PASSWORD]@");
    assert!(url.starts_with(&start), "{url}");
    assert_eq!(pooler[0]["pool_mode"], "session");
    assert_eq!(pooler[0]["database_type"], "PRIMARY");
}

/// PostgreSQL reports a full disk with SQLSTATE 53100; here, a trigger does.
#[tokio::test]
async fn no_space_for_a_project_is_503() {
    let app = TestPlatform::start().await;
    let zero = plinth_testkit::TestServer::shared()
        .await
        .admin()
        .database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    zero.batch_execute(
        "create function platform.is_full() returns trigger language plpgsql as $$
         begin
             raise exception 'could not extend file: No space left on device' using errcode = '53100';
         end $$;
         create trigger is_full before insert on platform.projects
             for each row execute function platform.is_full()",
    )
    .await
    .expect("a trigger");
    let create = async || {
        let body = json!({ "name": "Shop", "organization_slug": "default" });
        app.request(Method::POST, "/v1/projects", json_body(body))
            .await
    };

    let failed = create().await;

    assert!(failed.headers.contains_key("retry-after"), "{failed:?}");
    let body = failed.expect_status(503).json();
    assert!(!body.to_string().contains("extend file"), "{body}");
    zero.batch_execute("drop function platform.is_full() cascade")
        .await
        .expect("space again");
    create().await.expect_status(201);
}
