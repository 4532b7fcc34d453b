//! Users of a project, and trials of its auth settings, over `/platform`.

mod support;

use std::sync::Arc;

use http::Method;
use plinth_auth::AuthService;
use plinth_platform::{
    TokenLimits,
    api::{self, ControlSocket},
};
use plinth_project::ProjectName;
use plinth_testkit::{Call, Reply};
use serde_json::{Value, json};
use support::TestPlatform;

struct App {
    test: TestPlatform,
}

impl App {
    async fn start() -> Self {
        let test = TestPlatform::start().await;
        test.platform.attach_users(Arc::new(AuthService::new()));
        let app = Self { test };
        app.sql(
            "insert into auth.users (instance_id, id, aud, role, email, created_at, updated_at)
             select '00000000-0000-0000-0000-000000000000',
               ('a' || n || '000000-0000-4000-8000-000000000000')::uuid, 'authenticated',
               'authenticated', 'user' || n || '@mail.dev', now() - n * interval '1 h', now()
             from generate_series(1, 3) n",
        )
        .await;
        app
    }

    fn call(&self, method: Method, path: &str) -> Call {
        self.call_in("default", method, path)
    }

    fn call_in(&self, project: &str, method: Method, path: &str) -> Call {
        self.bare_call(project, method, path).with(|request| {
            request.extensions_mut().insert(ControlSocket);
        })
    }

    fn bare_call(&self, project: &str, method: Method, path: &str) -> Call {
        let path = format!("/platform/projects/{project}/auth{path}");
        Call::new(api::routes(self.test.platform.clone()), method, &path)
    }

    async fn token(&self, limits: TokenLimits) -> String {
        let (_, secret) = self.test.token_with("t", limits).await;
        secret.expose().to_owned()
    }

    /// As the owner of users' objects, who may seed users.
    async fn sql(&self, sql: &str) {
        let project = self.test.open(&ProjectName::Default).await;
        let admin = project.db.as_admin().await.expect("a session");
        admin.batch_execute(sql).await.expect(sql);
    }

    async fn audit(&self) -> Vec<(String, Value)> {
        let project = self.test.open(&ProjectName::Platform).await;
        let admin = project.db.as_admin().await.expect("a session");
        let sql = "select action, details from platform.audit where action ~ '^(user|auth)\\.'
                   order by id";
        let rows = admin.query(sql, &[]).await.expect("the audit log");
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }
}

const USER: &str = "a1000000-0000-4000-8000-000000000000";
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

/// Everything below `/auth`, with a body that is good.
fn routes() -> Vec<(Method, String, Option<Value>)> {
    let get = |path: String| (Method::GET, path, None);
    let post = |path: &str, body: Value| (Method::POST, path.to_owned(), Some(body));
    vec![
        get("/users".to_owned()),
        get(format!("/users/{USER}")),
        get(format!("/users/{USER}/sessions")),
        get(format!("/users/{USER}/audit")),
        get(format!("/users/{USER}/references")),
        get("/audit".to_owned()),
        get("/hooks/calls".to_owned()),
        post("/templates/preview", json!({ "template": "invite" })),
        post("/redirect-test", json!({ "url": "https://a.test" })),
        (Method::DELETE, format!("/users/{USER}/sessions"), None),
        post(
            &format!("/users/{USER}/impersonate"),
            json!({ "reason": "x" }),
        ),
        post("/mail/test", json!({ "to": "ops@mail.dev" })),
        post(
            "/hooks/test",
            json!({ "hook": "send_sms", "uri": "pg-functions://postgres/public/none" }),
        ),
    ]
}

#[track_caller]
fn expect_error(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    let body = reply.json();
    assert_eq!(body["code"], code, "{reply:?}");
    assert!(body["message"].is_string(), "{reply:?}");
}

#[tokio::test]
async fn every_call_works_and_needs_its_scope() {
    let app = App::start().await;
    let reading = app
        .token(TokenLimits {
            read_only: true,
            ..TokenLimits::default()
        })
        .await;
    let other = app
        .token(TokenLimits {
            scopes: Some(vec![
                "database_read".to_owned(),
                "database_write".to_owned(),
            ]),
            ..TokenLimits::default()
        })
        .await;
    let with_body = |call: Call, body: &Option<Value>| match body {
        Some(body) => call.json(body),
        None => call,
    };

    for (method, path, body) in routes() {
        let is_read =
            method == Method::GET || path == "/templates/preview" || path == "/redirect-test";
        let owner = with_body(app.call(method.clone(), &path), &body).await;
        assert_eq!(owner.status, 200, "{path}: {owner:?}");
        let bare = with_body(app.bare_call("default", method.clone(), &path), &body).await;
        expect_error(&bare, 401, "unauthorized");
        let call = app
            .bare_call("default", method.clone(), &path)
            .bearer(&reading);
        let status = with_body(call, &body).await.status.as_u16();
        assert_eq!(status, if is_read { 200 } else { 403 }, "{path}");
        let call = app
            .bare_call("default", method.clone(), &path)
            .bearer(&other);
        expect_error(&with_body(call, &body).await, 403, "forbidden");
        let unknown = app.call_in("abcdefghijklmnopqrst", method, &path);
        expect_error(&with_body(unknown, &body).await, 404, "not_found");
    }
}

#[tokio::test]
async fn users_are_searched_in_pages() {
    let app = App::start().await;

    let first = app
        .call(Method::GET, "/users?q=mail.dev&limit=2")
        .await
        .ok();
    let ids = |page: &Value| -> Vec<String> {
        let users = page["users"].as_array().expect("a list").iter();
        users
            .map(|user| user["email"].as_str().expect("an address").to_owned())
            .collect()
    };
    assert_eq!(ids(&first), ["user1@mail.dev", "user2@mail.dev"]);
    assert_eq!(
        (&first["total"], &first["is_estimate"]),
        (&json!(3), &json!(false))
    );
    let cursor = first["next"].as_str().expect("a cursor");
    let path = format!("/users?q=mail.dev&limit=2&cursor={cursor}");
    let second = app.call(Method::GET, &path).await.ok();
    assert_eq!(ids(&second), ["user3@mail.dev"]);
    assert_eq!(
        (&second["next"], &second["total"]),
        (&Value::Null, &Value::Null)
    );
    let sorted = app
        .call(Method::GET, "/users?sort=email&order=desc")
        .await
        .ok();
    assert_eq!(ids(&sorted)[0], "user3@mail.dev");

    for query in [
        "limit=x",
        "limit=0",
        "sort=password",
        "order=up",
        "confirmed=maybe",
        "cursor=nonsense",
        "id=xyz",
        "metadata=x",
        "signed_in_since=now",
        "q=%00",
        "q=%ff",
    ] {
        let reply = app.call(Method::GET, &format!("/users?{query}")).await;
        let is_odd_text = query == "q=%ff";
        if is_odd_text {
            assert!(reply.status == 200 || reply.status == 400, "{reply:?}");
        } else {
            expect_error(&reply, 400, "invalid_request");
        }
    }
}

#[tokio::test]
async fn wrong_ids_and_bodies_are_rejected() {
    let app = App::start().await;
    for (method, path) in [
        (Method::GET, "/users/1".to_owned()),
        (Method::GET, "/users/%F0%9F%8E%88/sessions".to_owned()),
        (Method::DELETE, format!("/users/{USER}/sessions/x")),
        (Method::GET, "/users/x/references".to_owned()),
        (Method::GET, "/users/x/audit".to_owned()),
    ] {
        expect_error(&app.call(method, &path).await, 400, "invalid_request");
    }
    for (method, path) in [
        (Method::GET, format!("/users/{NOBODY}")),
        (Method::GET, format!("/users/{NOBODY}/sessions")),
        (Method::GET, format!("/users/{NOBODY}/references")),
        (Method::DELETE, format!("/users/{NOBODY}/sessions")),
        (Method::DELETE, format!("/users/{USER}/sessions/{NOBODY}")),
    ] {
        expect_error(&app.call(method, &path).await, 404, "not_found");
    }
    let impersonate = format!("/users/{USER}/impersonate");
    for (path, body) in [
        (impersonate.as_str(), json!({})),
        (&impersonate, json!({ "reason": "  " })),
        (&impersonate, json!({ "reason": "x".repeat(501) })),
        (&impersonate, json!([])),
        ("/mail/test", json!({ "to": "nobody" })),
        (
            "/mail/test",
            json!({ "to": "a@b.dev", "smtp": { "host": "h", "port": 70_000 } }),
        ),
        ("/templates/preview", json!({ "template": "nothing" })),
        (
            "/templates/preview",
            json!({ "template": "invite", "body": "{{ if }}" }),
        ),
        ("/redirect-test", json!({})),
        ("/hooks/test", json!({ "hook": "nothing" })),
        ("/hooks/test", json!({ "hook": "send_sms", "uri": "x" })),
    ] {
        let reply = app.call(Method::POST, path).json(&body).await;
        expect_error(&reply, 400, "invalid_request");
    }
    let off = app
        .call(Method::POST, "/hooks/test")
        .json(&json!({ "hook": "send_sms" }));
    expect_error(&off.await, 409, "conflict");
    let nobody = format!("/users/{NOBODY}/impersonate");
    let nobody = app
        .call(Method::POST, &nobody)
        .json(&json!({ "reason": "x" }));
    expect_error(&nobody.await, 404, "not_found");
}

#[tokio::test]
async fn operators_are_not_impersonated() {
    let app = App::start().await;
    let path = format!("/users/{USER}/impersonate");
    let zero = app.test.platform.references().platform.to_string();

    for project in ["platform", &zero] {
        let call = app.call_in(project, Method::POST, &path);
        let reply = call.json(&json!({ "reason": "x" })).await;
        expect_error(&reply, 403, "forbidden");
    }
}

#[tokio::test]
async fn changes_are_in_the_audit_log_without_secrets() {
    let app = App::start().await;
    let path = format!("/users/{USER}/impersonate");
    let call = app.call(Method::POST, &path);
    let session = call.json(&json!({ "reason": " ticket 7 " })).await.ok();
    let sessions = format!("/users/{USER}/sessions");
    let ended = app.call(Method::DELETE, &sessions).await.ok();
    assert_eq!(ended, json!({ "ended": 1 }));
    let mail = json!({
        "to": "ops@mail.dev",
        "smtp": {
            "host": "127.0.0.1", "port": 1, "user": "me", "pass": "geheim",
            "admin_email": "a@b.dev",
        },
    });
    let tried = app.call(Method::POST, "/mail/test").json(&mail).await.ok();
    assert_eq!(tried["is_delivered"], false);

    let entries = app.audit().await;

    let expected = [
        (
            "user.impersonate",
            json!({
                "user": USER,
                "session": session["session_id"],
                "expires_at": session["expires_at"],
                "reason": "ticket 7",
            }),
        ),
        (
            "user.sessions.end",
            json!({ "user": USER, "session": null, "ended": 1 }),
        ),
        (
            "auth.mail.test",
            json!({
                "to": "ops@mail.dev", "host": "127.0.0.1", "delivery": "smtp",
                "is_delivered": false,
            }),
        ),
    ];
    let expected: Vec<(String, Value)> = expected
        .into_iter()
        .map(|(action, details)| (action.to_owned(), details))
        .collect();
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn rows_that_refer_to_a_user_are_counted() {
    let app = App::start().await;
    app.sql(&format!(
        "create schema \"od\"\"d 🎈.schema\";
         create table public.notes (id int, owner uuid references auth.users on delete cascade);
         create table \"od\"\"d 🎈.schema\".\"ta'ble\" (
           \"co\"\"l umn\" uuid references auth.users on delete restrict);
         create table public.pair (a int, b uuid references auth.users (id) on delete set null);
         create table public.unrelated (id uuid);
         grant usage on schema \"od\"\"d 🎈.schema\" to postgres;
         grant select on all tables in schema \"od\"\"d 🎈.schema\", public to postgres;
         create schema closed;
         create table closed.rows (owner uuid references auth.users);
         insert into public.notes select n, '{USER}' from generate_series(1, 1500) n;
         insert into \"od\"\"d 🎈.schema\".\"ta'ble\" values ('{USER}');
         insert into storage.buckets (id, name, owner_id) values ('b', 'b', '{USER}');"
    ))
    .await;

    let path = format!("/users/{USER}/references");
    let found = app.call(Method::GET, &path).await.ok();

    let mut all = found["references"].as_array().expect("a list").iter();
    let closed = all.next().expect("a table");
    assert_eq!(
        (&closed["schema"], &closed["rows"]),
        (&json!("closed"), &Value::Null)
    );
    assert_eq!(closed["problem"], "permission denied for schema closed");
    let rows: Vec<Value> = all
        .map(|reference| {
            assert_eq!(reference["problem"], Value::Null, "{reference}");
            json!([
                format!(
                    "{}.{}.{}",
                    reference["schema"].as_str().expect("a name"),
                    reference["table"].as_str().expect("a name"),
                    reference["column"].as_str().expect("a name"),
                ),
                reference["on_delete"],
                reference["rows"],
            ])
        })
        .collect();
    let expected = [
        json!(["od\"d 🎈.schema.ta'ble.co\"l umn", "restrict", 1]),
        json!(["public.notes.owner", "cascade", 1000]),
        json!(["public.pair.b", "set null", 0]),
        json!(["storage.buckets.owner_id", null, 1]),
        json!(["storage.objects.owner_id", null, 0]),
    ];
    assert_eq!(rows, expected);
    assert_eq!(found["max_counted"], 1000);
}
