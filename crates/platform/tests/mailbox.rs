//! A project's development mailbox over the platform API (console contract §2.8).

mod support;

use axum::body::{Body, to_bytes};
use http::{Method, Request, StatusCode};
use plinth_db::Queries;
use plinth_platform::{BranchRequest, api};
use plinth_project::{ProjectName, Service};
use plinth_testkit::TestServer;
use plinth_token::ApiKeyKind;
use serde_json::{Value, json};
use support::TestPlatform;
use tower::ServiceExt;

const INSERT_MAIL: &str = "
    select plinth.keep_mail(
        $1::text::timestamptz, 'no-reply@site.test', $2, 'Subject ' || $2, 'confirmation',
        '<p>Hi</p>', 'Hi', array['https://site.test/'], '123456')";

async fn insert_mail(app: &TestPlatform, name: &ProjectName, at: &str, to: &str) {
    let project = app.open(name).await;
    let auth = project.db.as_service(Service::Auth).await;
    let mut auth = auth.expect("the auth service connects");
    auth.execute(INSERT_MAIL, &[&at, &to])
        .await
        .expect("a mail is kept");
}

async fn key_of(app: &TestPlatform, name: &ProjectName, kind: ApiKeyKind) -> String {
    let keys = app.platform.list_api_keys(name).await.expect("API keys");
    let key = keys.iter().find(|key| key.kind == kind);
    key.expect("a key of this kind").value.expose().to_owned()
}

async fn call(
    app: &TestPlatform,
    method: Method,
    name: &ProjectName,
    rest: &str,
    bearer: Option<&str>,
) -> (StatusCode, Value) {
    let uri = format!("/platform/projects/{name}/mailbox{rest}");
    let mut request = Request::builder().method(method).uri(uri);
    if let Some(bearer) = bearer {
        request = request.header("authorization", format!("Bearer {bearer}"));
    }
    let request = request.body(Body::empty()).expect("a request");
    let response = api::routes(app.platform.clone()).oneshot(request).await;
    let (parts, body) = response.expect("infallible").into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("a whole body");
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    (parts.status, body)
}

fn recipients(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().expect("messages");
    let to = messages.iter().map(|message| message["to"].as_str());
    to.map(|to| to.expect("an address")).collect()
}

#[tokio::test]
async fn the_secret_key_opens_the_mailbox_of_its_project() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    insert_mail(&app, &name, "2026-01-02T03:04:05Z", "ann@mail.dev").await;
    let secret = key_of(&app, &name, ApiKeyKind::Secret).await;

    let (status, list) = call(&app, Method::GET, &name, "", Some(&secret)).await;

    assert_eq!(status, 200, "{list}");
    let mail = &list["messages"][0];
    let id = mail["id"].as_str().expect("an id");
    let expected = json!({
        "id": id,
        "at": "2026-01-02T03:04:05Z",
        "from": "no-reply@site.test",
        "to": "ann@mail.dev",
        "subject": "Subject ann@mail.dev",
        "template": "confirmation",
        "html": "<p>Hi</p>",
        "text": "Hi",
        "links": ["https://site.test/"],
        "otp": "123456",
    });
    assert_eq!(list, json!({ "messages": [expected], "next": null }));
    let (status, one) = call(&app, Method::GET, &name, &format!("/{id}"), Some(&secret)).await;
    assert_eq!((status, one), (StatusCode::OK, expected));
}

#[tokio::test]
async fn nothing_else_of_a_project_opens_it() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let other = app.project("Other").await;
    let legacy = app.platform.legacy_keys(&name).await.expect("legacy keys");
    let publishable = key_of(&app, &name, ApiKeyKind::Publishable).await;
    let foreign = key_of(&app, &other, ApiKeyKind::Secret).await;

    for bearer in [
        None,
        Some(publishable.as_str()),
        Some(legacy.anon.expose()),
        Some(foreign.as_str()),
        Some("sb_secret_unknown"),
        Some("sbp_0000000000000000000000000000000000000000"),
        Some("nonsense"),
    ] {
        for (method, rest) in [
            (Method::GET, ""),
            (Method::GET, "/1"),
            (Method::DELETE, ""),
            (Method::DELETE, "/1"),
        ] {
            let (status, body) = call(&app, method, &name, rest, bearer).await;
            assert_eq!(status, 401, "{bearer:?}: {body}");
            assert_eq!(body["code"], "unauthorized");
        }
    }
    let secret = key_of(&app, &name, ApiKeyKind::Secret).await;
    let nowhere: ProjectName = "abcdefghijklmnopqrst".parse().expect("a ref");
    let (status, body) = call(&app, Method::GET, &nowhere, "", Some(&secret)).await;
    assert_eq!(status, 401, "{body}");
}

#[tokio::test]
async fn a_personal_access_token_opens_it_and_a_key_opens_nothing_more() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let (_, token) = app.token("me").await;
    let secret = key_of(&app, &name, ApiKeyKind::Secret).await;

    let (status, _) = call(&app, Method::GET, &name, "", Some(token.expose())).await;
    assert_eq!(status, 200);
    let nowhere: ProjectName = "abcdefghijklmnopqrst".parse().expect("a ref");
    let (status, _) = call(&app, Method::GET, &nowhere, "", Some(token.expose())).await;
    assert_eq!(status, 404);

    let request = Request::get(format!("/platform/projects/{name}/database"))
        .header("authorization", format!("Bearer {secret}"))
        .body(Body::empty())
        .expect("a request");
    let response = api::routes(app.platform.clone()).oneshot(request).await;
    assert_eq!(response.expect("infallible").status(), 401);
}

#[tokio::test]
async fn mails_are_listed_newest_first_by_recipient_time_and_page() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    insert_mail(&app, &name, "2026-01-01T00:00:00Z", "a@mail.dev").await;
    insert_mail(&app, &name, "2026-01-02T00:00:00Z", "b@mail.dev").await;
    insert_mail(&app, &name, "2026-01-03T00:00:00Z", "a@mail.dev").await;
    let secret = key_of(&app, &name, ApiKeyKind::Secret).await;
    let list = async |rest: &str| call(&app, Method::GET, &name, rest, Some(&secret)).await;

    let (_, all) = list("").await;
    assert_eq!(recipients(&all), ["a@mail.dev", "b@mail.dev", "a@mail.dev"]);
    let (_, to) = list("?to=A%40mail.dev").await;
    assert_eq!(recipients(&to), ["a@mail.dev", "a@mail.dev"]);
    let (_, since) = list("?since=2026-01-02T00:00:00Z").await;
    assert_eq!(recipients(&since), ["a@mail.dev", "b@mail.dev"]);
    let (_, page) = list("?limit=2").await;
    assert_eq!(recipients(&page), ["a@mail.dev", "b@mail.dev"]);
    let next = page["next"].as_str().expect("a cursor");
    let (_, rest) = list(&format!("?limit=2&cursor={next}")).await;
    assert_eq!(recipients(&rest), ["a@mail.dev"]);
    assert_eq!(rest["next"], Value::Null);

    for bad in ["?since=yesterday", "?cursor=x", "?limit=many"] {
        let (status, body) = list(bad).await;
        assert_eq!(status, 400, "{bad}");
        assert_eq!(body["code"], "invalid_request");
    }
}

#[tokio::test]
async fn mails_are_thrown_away_one_by_one_or_all_at_once() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    for to in ["a@mail.dev", "b@mail.dev", "c@mail.dev"] {
        insert_mail(&app, &name, "2026-01-01T00:00:00Z", to).await;
    }
    let secret = key_of(&app, &name, ApiKeyKind::Secret).await;
    let call =
        async |method: Method, rest: &str| call(&app, method, &name, rest, Some(&secret)).await;
    let (_, all) = call(Method::GET, "").await;
    let one = format!("/{}", all["messages"][1]["id"].as_str().expect("an id"));

    assert_eq!(call(Method::DELETE, &one).await.0, 204);
    assert_eq!(call(Method::DELETE, &one).await.0, 404);
    assert_eq!(call(Method::GET, &one).await.0, 404);
    assert_eq!(call(Method::GET, "/none").await.0, 404);
    let (_, left) = call(Method::GET, "").await;
    assert_eq!(recipients(&left), ["c@mail.dev", "a@mail.dev"]);

    assert_eq!(call(Method::DELETE, "").await.0, 204);
    let (_, left) = call(Method::GET, "").await;
    assert_eq!(left, json!({ "messages": [], "next": null }));
}

#[tokio::test]
async fn there_is_no_mailbox_where_a_mail_server_is() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let secret = key_of(&app, &name, ApiKeyKind::Secret).await;
    let zero = TestServer::shared().await.admin();
    let zero = zero.database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    let settings = json!({
        "auth.email.smtp.enabled": true,
        "auth.email.smtp.host": "mail.test",
        "auth.email.smtp.port": 25,
        "auth.email.smtp.admin_email": "a@mail.test",
    });
    let sql = "update platform.projects set settings = $1 where ref = $2";
    zero.execute(sql, &[&settings, &name.to_string()])
        .await
        .expect("settings");
    let reference = app
        .platform
        .load_project(&name)
        .await
        .expect("it")
        .reference;
    app.registry.refresh(&reference).await;

    let (status, body) = call(&app, Method::GET, &name, "", Some(&secret)).await;

    assert_eq!(
        (status, &body["code"]),
        (StatusCode::NOT_FOUND, &json!("mailbox_off"))
    );
}

#[tokio::test]
async fn a_branch_starts_with_an_empty_mailbox() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    insert_mail(&app, &name, "2026-01-01T00:00:00Z", "a@mail.dev").await;
    let request = BranchRequest {
        name: "try".to_owned(),
        ..BranchRequest::default()
    };

    let branch = app.platform.create_branch(&name, &request).await;

    let branch = ProjectName::Ref(branch.expect("a branch").reference);
    let secret = key_of(&app, &branch, ApiKeyKind::Secret).await;
    let (_, left) = call(&app, Method::GET, &branch, "", Some(&secret)).await;
    assert_eq!(left, json!({ "messages": [], "next": null }));
}
