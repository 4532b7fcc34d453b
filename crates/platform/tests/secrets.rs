//! Secrets of a project over the Management API (console contract §2.4.4).

mod support;

use std::collections::BTreeMap;

use http::Method;
use plinth_project::{FunctionStore, ProjectName};
use plinth_testkit::TestServer;
use serde_json::{Value, json};
use support::{TestPlatform, functions::json_body};

async fn path(app: &TestPlatform) -> String {
    let reference = app.reference(&ProjectName::Default).await;
    format!("/v1/projects/{reference}/secrets")
}

async fn set(app: &TestPlatform, body: Value, status: u16) -> Value {
    let uri = path(app).await;
    app.request(Method::POST, &uri, json_body(body))
        .await
        .expect_status(status)
        .json()
}

async fn names(app: &TestPlatform) -> Vec<String> {
    let secrets = app.platform.list_secrets(&ProjectName::Default).await;
    let secrets = secrets.expect("secrets").into_iter();
    secrets.map(|secret| secret.name).collect()
}

#[tokio::test]
async fn secrets_are_shown_as_digests_and_given_to_functions_as_they_are() {
    let app = TestPlatform::start().await;

    set(
        &app,
        json!([{ "name": "B", "value": "abc" }, { "name": "A", "value": "" }]),
        201,
    )
    .await;

    let uri = path(&app).await;
    let listed = app.request(Method::GET, &uri, None).await.ok();
    let at = |index: usize| listed[index]["updated_at"].clone();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let expected = json!([
        { "name": "A", "value": empty, "updated_at": at(0) },
        { "name": "B", "value": abc, "updated_at": at(1) },
    ]);
    assert_eq!(listed, expected);
    assert!(at(0).is_string());
    let reference = app.reference(&ProjectName::Default).await;
    let given = app.platform.secrets(&reference).await.expect("secrets");
    let expected = [("A", ""), ("B", "abc")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(given, BTreeMap::from(expected));
}

#[tokio::test]
async fn a_dump_yields_no_secrets() {
    let app = TestPlatform::start().await;
    set(
        &app,
        json!([{ "name": "A", "value": "plainly visible" }]),
        201,
    )
    .await;
    let database = app.platform.references().platform.clone();
    let admin = TestServer::shared()
        .await
        .admin()
        .database(database.as_str());
    let admin = admin.connect().await.expect("project zero");

    let row = admin
        .query_one("select to_jsonb(s)::text from platform.secrets s", &[])
        .await;
    let text: String = row.expect("a row").get(0);

    assert!(!text.contains("plainly visible"), "{text}");
    // Moved to another name it opens nowhere.
    let moved = "update platform.secrets set name = 'B'";
    admin.execute(moved, &[]).await.expect("updated");
    let reference = app.reference(&ProjectName::Default).await;
    assert!(app.platform.secrets(&reference).await.is_err());
}

#[tokio::test]
async fn all_are_set_or_none() {
    let app = TestPlatform::start().await;
    let good = json!({ "name": "GOOD", "value": "1" });
    let bad = [
        json!({ "name": "SUPABASE_URL", "value": "x" }),
        json!({ "name": "", "value": "x" }),
        json!({ "name": "A=B", "value": "x" }),
        json!({ "name": "A\0", "value": "x" }),
        json!({ "name": "A", "value": "x\0" }),
        json!({ "name": "n".repeat(257), "value": "x" }),
        json!({ "name": "A", "value": "v".repeat(24_577) }),
        json!({ "name": "A", "value": 1 }),
        json!({ "name": "A" }),
        good.clone(),
    ];
    for bad in bad {
        let response = set(&app, json!([good, bad]), 400).await;
        assert!(response["message"].is_string(), "{response}");
    }
    set(&app, json!({ "GOOD": "1" }), 400).await;
    assert_eq!(names(&app).await, Vec::<String>::new());

    let many: Vec<Value> = (0..100)
        .map(|number| json!({ "name": format!("N{number:03}"), "value": "x" }))
        .collect();
    set(&app, json!(many), 201).await;
    set(&app, json!([{ "name": "ONE_MORE", "value": "x" }]), 400).await;
    set(&app, json!([{ "name": "N000", "value": "changed" }]), 201).await;
    assert_eq!(names(&app).await.len(), 100);
}

#[tokio::test]
async fn removed_secrets_are_gone() {
    let app = TestPlatform::start().await;
    let three = ["A", "B", "C"].map(|name| json!({ "name": name, "value": "x" }));
    set(&app, json!(three), 201).await;
    let uri = path(&app).await;
    let remove = async |body: Value, status: u16| {
        let response = app.request(Method::DELETE, &uri, json_body(body)).await;
        response.expect_status(status);
    };

    remove(json!(["A", "C", "UNKNOWN"]), 200).await;
    remove(json!([]), 200).await;

    assert_eq!(names(&app).await, ["B"]);
    remove(json!("B"), 400).await;
    remove(json!([1]), 400).await;
    remove(json!(["B\0"]), 400).await;
    app.request(Method::DELETE, &uri, None)
        .await
        .expect_status(400);
    assert_eq!(names(&app).await, ["B"]);
}
