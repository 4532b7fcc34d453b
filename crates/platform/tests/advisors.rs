//! The advisors over the API: findings with fixes, what is ignored, history.

mod support;

use http::Method;
use plinth_project::ProjectName;
use plinth_testkit::Reply;
use serde_json::{Value, json};
use support::{TestPlatform, functions::json_body};

async fn with_finding() -> (TestPlatform, String, ProjectName) {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let owner = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner");
    let sql = "create table public.notes (id int primary key)";
    owner.batch_execute(sql).await.expect("a table");
    let reference = app.reference(&name).await.to_string();
    (app, reference, name)
}

async fn call(app: &TestPlatform, method: Method, uri: &str, body: Value) -> Reply {
    let body = if body.is_null() {
        None
    } else {
        json_body(body)
    };
    app.request(method, uri, body).await
}

fn named<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    let list = list.as_array().expect("a list");
    list.iter().find(|item| item["name"] == json!(name))
}

const CHECK: &str = "rls_disabled_in_public";

#[tokio::test]
async fn findings_have_their_fix_and_vanish_when_it_ran() {
    let (app, reference, name) = with_finding().await;
    let uri = format!("/platform/projects/{reference}/advisors");

    let before = call(&app, Method::GET, &uri, Value::Null).await.ok();
    let found = named(&before["findings"], CHECK).expect("a finding");
    let fix = found["fix"].as_str().expect("a fix");
    let owner = app
        .open(&name)
        .await
        .db
        .as_owner()
        .await
        .expect("the owner");
    owner.batch_execute(fix).await.expect("fixed");
    let after = call(&app, Method::GET, &uri, Value::Null).await.ok();
    let history = call(&app, Method::GET, &format!("{uri}/history"), Value::Null)
        .await
        .ok();

    assert_eq!(found["level"], json!("ERROR"));
    assert_eq!(found["ignored"], json!(null));
    assert!(found["first_seen_at"].is_string());
    assert!(named(&after["findings"], CHECK).is_none(), "{after:#}");
    assert!(named(&history, CHECK).expect("a past one")["resolved_at"].is_string());
    // What nothing is known about is told.
    assert!(named(&before["not_run"], "plinth_backup_stale").is_some());
}

#[tokio::test]
async fn the_management_api_has_one_list_per_advisor() {
    let (app, reference, _) = with_finding().await;
    let get = async |advisor: &str| {
        let uri = format!("/v1/projects/{reference}/advisors/{advisor}");
        call(&app, Method::GET, &uri, Value::Null).await.ok()["lints"].clone()
    };

    let security = get("security").await;
    let performance = get("performance").await;

    let found = named(&security, CHECK).expect("a finding");
    for member in [
        "title",
        "facing",
        "categories",
        "description",
        "detail",
        "remediation",
        "metadata",
        "cache_key",
    ] {
        assert!(!found[member].is_null(), "{member}");
    }
    assert_eq!(found["categories"], json!(["SECURITY"]));
    assert!(named(&performance, CHECK).is_none());
}

#[tokio::test]
async fn an_ignored_finding_has_a_reason_and_an_end() {
    let (app, reference, _) = with_finding().await;
    let uri = format!("/platform/projects/{reference}/advisors");
    let ignores = format!("{uri}/ignores");
    let lints = format!("/v1/projects/{reference}/advisors/security");
    let is_listed = async || {
        let lints = call(&app, Method::GET, &lints, Value::Null).await.ok()["lints"].clone();
        named(&lints, CHECK).is_some()
    };
    let key = "rls_disabled_in_public_public_notes";

    let other = json!({ "name": CHECK, "cache_key": "another", "reason": "no matter" });
    call(&app, Method::POST, &ignores, other)
        .await
        .expect_status(201);
    assert!(is_listed().await);
    let body = json!({ "name": CHECK, "cache_key": key, "reason": "it's public 🎉", "expires_at": "2099-01-01T00:00:00Z" });
    let made = call(&app, Method::POST, &ignores, body)
        .await
        .expect_status(201)
        .json();
    let one = format!("{ignores}/{}", made["id"].as_str().expect("an id"));
    assert!(!is_listed().await);
    let shown = call(&app, Method::GET, &uri, Value::Null).await.ok();
    let reason =
        named(&shown["findings"], CHECK).expect("it is shown")["ignored"]["reason"].clone();
    assert_eq!(reason, json!("it's public 🎉"));

    let past = json!({ "expires_at": "2020-01-01T00:00:00Z" });
    call(&app, Method::PATCH, &one, past)
        .await
        .expect_status(200);
    assert!(is_listed().await);
    let endless = json!({ "expires_at": "", "reason": "for good" });
    let endless = call(&app, Method::PATCH, &one, endless).await.ok();
    assert_eq!(
        (endless["expires_at"].clone(), endless["reason"].clone()),
        (json!(null), json!("for good"))
    );
    assert!(!is_listed().await);
    call(&app, Method::DELETE, &one, Value::Null)
        .await
        .expect_status(204);
    assert!(is_listed().await);
    call(&app, Method::DELETE, &one, Value::Null)
        .await
        .expect_status(404);
    let listed = call(&app, Method::GET, &ignores, Value::Null).await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn bad_input_is_refused_with_a_reason() {
    let (app, reference, _) = with_finding().await;
    let uri = format!("/platform/projects/{reference}/advisors");
    let ignores = format!("{uri}/ignores");
    for body in [
        json!({ "name": "no_such_check", "reason": "x" }),
        json!({ "name": CHECK, "reason": " " }),
        json!({ "name": CHECK, "reason": "x".repeat(1001) }),
        json!({ "name": CHECK, "reason": "x", "expires_at": "tomorrow" }),
        json!({ "name": CHECK, "reason": "a\u{0}b" }),
        json!({ "name": CHECK }),
    ] {
        call(&app, Method::POST, &ignores, body)
            .await
            .expect_status(400);
    }
    let unknown = format!("{ignores}/not-an-id");
    call(&app, Method::PATCH, &unknown, json!({}))
        .await
        .expect_status(404);
    let category = format!("{uri}?category=beauty");
    call(&app, Method::GET, &category, Value::Null)
        .await
        .expect_status(400);
}
