//! Settings of a project over the API: values and sources, changes, files, the Management API's forms.

mod support;

use http::Method;
use plinth_project::ProjectName;
use plinth_testkit::{Call, Reply, TestServer};
use serde_json::{Value, json};
use support::{TestPlatform, functions::json_body};

fn config(project: &str) -> String {
    format!("/platform/projects/{project}/config")
}

async fn setting(app: &TestPlatform, project: &str, name: &str) -> Value {
    let body = app.request(Method::GET, &config(project), None).await.ok();
    let settings = body["settings"].as_array().expect("a list").clone();
    let found = settings.into_iter().find(|setting| setting["name"] == name);
    found.unwrap_or_else(|| panic!("no setting {name}"))
}

async fn change(app: &TestPlatform, project: &str, settings: Value) -> Reply {
    let body = json_body(json!({ "settings": settings }));
    app.request(Method::PATCH, &config(project), body).await
}

/// What the table has, as a dump would show it.
async fn stored(app: &TestPlatform) -> String {
    let zero = TestServer::shared().await.admin();
    let zero = zero.database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    let sql =
        "select string_agg(settings::text, ' ') || coalesce((select string_agg(details::text, ' ')
                   from platform.audit), '') from platform.projects";
    zero.query_one(sql, &[]).await.expect("the rows").get(0)
}

#[tokio::test]
async fn every_setting_has_a_value_a_source_and_a_meaning() {
    let app = TestPlatform::start().await;

    let rows = setting(&app, "default", "api.max_rows").await;
    let host = setting(&app, "default", "plinth.host").await;
    let secret = setting(&app, "default", "auth.email.smtp.pass").await;

    assert_eq!(rows["value"], 1000);
    assert_eq!(rows["source"], "default");
    assert_eq!(rows["type"], "integer");
    assert_eq!(rows["is_changeable"], true);
    assert_eq!(rows["needs_restart"], false);
    assert_eq!(rows["obstacle"], Value::Null);
    assert_eq!(host["is_changeable"], false);
    assert_eq!(host["needs_restart"], true);
    assert!(host["obstacle"].to_string().contains("restart"), "{host}");
    assert_eq!(secret["type"], "secret");
    assert_eq!(secret["value"], Value::Null);
    let other = app.reference(&app.project("Shop").await).await;
    let body = app
        .request(Method::GET, &config(other.as_str()), None)
        .await
        .ok();
    let names = body["settings"].to_string();
    assert!(names.contains("auth.site_url") && !names.contains("plinth.host"));
}

#[tokio::test]
async fn a_change_is_live_and_told_to_all() {
    let app = TestPlatform::start().await;
    let project = app.open(&ProjectName::Default).await;
    let mut changes = project.settings().subscribe();

    let reply = change(&app, "default", json!({ "api.max_rows": 7 })).await;

    let body = reply.ok();
    assert_eq!(
        body["changes"],
        json!([{ "name": "api.max_rows", "before": 1000, "after": 7 }])
    );
    assert_eq!(
        reply.header("etag").map(|tag| tag.replace('"', "")),
        body["etag"].as_str().map(str::to_owned)
    );
    assert!(changes.has_changed().expect("an open project"));
    let current = changes.borrow_and_update().clone();
    assert_eq!(current.get(plinth_settings::keys::api::MAX_ROWS), 7);
    let shown = setting(&app, "default", "api.max_rows").await;
    assert_eq!(
        (&shown["value"], &shown["source"]),
        (&json!(7), &json!("stored"))
    );
    let reset = change(&app, "default", json!({ "api.max_rows": null }))
        .await
        .ok();
    assert_eq!(reset["changes"][0]["after"], 1000);
    assert_eq!(
        setting(&app, "default", "api.max_rows").await["source"],
        "default"
    );
}

#[tokio::test]
async fn secrets_are_masked_sealed_and_kept_by_their_mask() {
    let app = TestPlatform::start().await;
    let secret = "hunter2-and-more";
    let reply = change(&app, "default", json!({ "auth.captcha.secret": secret })).await;
    let first = reply.ok();

    assert_eq!(first["changes"][0]["after"], "***");
    assert!(!stored(&app).await.contains(secret));
    let shown = setting(&app, "default", "auth.captcha.secret").await;
    assert_eq!(shown["value"], "***");
    let project = app.open(&ProjectName::Default).await;
    let current = || project.settings().current();
    let key = plinth_settings::keys::auth::CAPTCHA_SECRET;
    assert_eq!(
        current()
            .get(key)
            .map(|it| it.expose().to_owned())
            .as_deref(),
        Some(secret)
    );
    let again = json!({ "auth.captcha.secret": "***", "api.max_rows": 8 });
    let again = change(&app, "default", again).await.ok();
    assert_eq!(
        again["changes"].as_array().map(Vec::len),
        Some(1),
        "{again}"
    );
    assert_eq!(
        current()
            .get(key)
            .map(|it| it.expose().to_owned())
            .as_deref(),
        Some(secret)
    );
    let file = app
        .request(Method::GET, "/platform/projects/default/config.toml", None)
        .await;
    assert!(
        !file.text().contains(secret) && file.text().contains("not shown"),
        "{}",
        file.text()
    );
}

#[tokio::test]
async fn a_stale_change_is_refused() {
    let app = TestPlatform::start().await;
    let seen = app.request(Method::GET, &config("default"), None).await;
    let tag = seen.header("etag").expect("an etag").to_owned();
    change(&app, "default", json!({ "api.max_rows": 9 }))
        .await
        .ok();
    let patch = async |tag: &str| {
        let call = Call::new(
            plinth_platform::api::routes(app.platform.clone()),
            Method::PATCH,
            &config("default"),
        );
        let call = call.header("if-match", tag).with(|request| {
            request
                .extensions_mut()
                .insert(plinth_platform::api::ControlSocket);
        });
        let body = json!({ "settings": { "api.max_rows": 10 } }).to_string();
        call.body("application/json", body).await
    };

    let stale = patch(&tag).await;

    assert_eq!(stale.expect_status(412).json()["code"], "stale");
    assert_eq!(setting(&app, "default", "api.max_rows").await["value"], 9);
    let seen = app.request(Method::GET, &config("default"), None).await;
    patch(seen.header("etag").expect("an etag")).await.ok();
    patch("*").await.ok();
    patch("\"\"").await.expect_status(400);
}

#[tokio::test]
async fn bad_values_are_named_and_nothing_is_stored() {
    let app = TestPlatform::start().await;
    for (settings, status, code, text) in [
        (
            json!({ "api.max_rows": -1 }),
            400,
            "invalid_settings",
            "max_rows",
        ),
        (
            json!({ "api.max_rows": "many" }),
            400,
            "invalid_settings",
            "max_rows",
        ),
        (
            json!({ "api.max_row": 1 }),
            400,
            "invalid_settings",
            "max_rows",
        ),
        (
            json!({ "nonsense": 1 }),
            400,
            "invalid_settings",
            "nonsense",
        ),
        (json!({ "": 1 }), 400, "invalid_settings", "setting"),
        (
            json!({ "auth.external.nobody.enabled": true }),
            400,
            "invalid_settings",
            "nobody",
        ),
        (
            json!({ "auth.\u{0}\"😀": true }),
            400,
            "invalid_settings",
            "setting",
        ),
        (
            json!({ "auth.site_url": "no url" }),
            400,
            "invalid_settings",
            "site_url",
        ),
        (
            json!({ "auth.site_url": ["https://x"] }),
            400,
            "invalid_settings",
            "site_url",
        ),
        (
            json!({ "plinth.host": "0.0.0.0" }),
            409,
            "setting_fixed",
            "plinth.host",
        ),
        (
            json!({ "auth.jwt_secret": "x" }),
            409,
            "setting_fixed",
            "auth.jwt_secret",
        ),
        (
            json!({ "auth.email.template.invite.content_path": "/etc/passwd" }),
            409,
            "setting_fixed",
            "content_path",
        ),
        // A good value beside a bad one is not stored either.
        (
            json!({ "api.max_rows": 5, "auth.jwt_expiry": 0 }),
            400,
            "invalid_settings",
            "jwt_expiry",
        ),
    ] {
        let reply = change(&app, "default", settings.clone()).await;

        let body = reply.expect_status(status).json();
        assert_eq!(body["code"], code, "{settings}");
        assert!(body.to_string().contains(text), "{settings}: {body}");
    }
    assert_eq!(
        setting(&app, "default", "api.max_rows").await["value"],
        1000
    );
    for body in ["", "{}", "[]", "{\"settings\":[]}", "{\"settings\":null}"] {
        let sent = Some(("application/json".to_owned(), body.as_bytes().to_vec()));
        let reply = app.request(Method::PATCH, &config("default"), sent).await;
        reply.expect_status(400);
    }
    let reply = change(&app, "aaaaaaaaaaaaaaaaaaaa", json!({ "api.max_rows": 5 })).await;
    reply.expect_status(404);
}

#[tokio::test]
async fn a_file_is_compared_and_applied() {
    let app = TestPlatform::start().await;
    let uri = "/platform/projects/default/config.toml";
    let put = async |query: &str, text: &str| {
        let sent = Some(("application/toml".to_owned(), text.as_bytes().to_vec()));
        app.request(Method::PUT, &format!("{uri}{query}"), sent)
            .await
    };
    change(&app, "default", json!({ "auth.jwt_expiry": 60 }))
        .await
        .ok();
    let file = "[api]\nmax_rows = 50\nport = 1234\n[auth]\nsite_url = \"https://example.com\"";

    let compared = put("?dry_run=true", file).await.ok();
    let untouched = setting(&app, "default", "api.max_rows").await;
    let applied = put("", file).await.ok();

    let names = |body: &Value| -> Vec<(String, bool)> {
        let found = body["differences"].as_array().expect("a list").iter();
        found
            .map(|it| {
                (
                    it["name"].as_str().unwrap_or_default().to_owned(),
                    it["obstacle"].is_null(),
                )
            })
            .collect()
    };
    let expected = [
        ("api.max_rows", true),
        ("api.port", false),
        ("auth.jwt_expiry", true),
        ("auth.site_url", true),
    ];
    assert_eq!(
        names(&compared),
        expected.map(|(name, is_free)| (name.to_owned(), is_free))
    );
    assert_eq!(compared["is_applied"], false);
    assert_eq!(untouched["value"], 1000);
    assert_eq!(applied["is_applied"], true);
    assert_eq!(setting(&app, "default", "api.max_rows").await["value"], 50);
    assert_eq!(
        setting(&app, "default", "auth.jwt_expiry").await["source"],
        "default"
    );
    // Switched on, it needs its secret, which no exported file has.
    let captcha = json!({ "auth.captcha.enabled": true, "auth.captcha.provider": "turnstile",
        "auth.captcha.secret": "hunter2" });
    change(&app, "default", captcha).await.ok();
    let exported = app.request(Method::GET, uri, None).await;
    let same = put("?dry_run=true", exported.text()).await.ok();
    assert_eq!(same["differences"], json!([]));
}

#[tokio::test]
async fn a_file_cannot_read_the_environment_and_bad_ones_are_rejected() {
    let app = TestPlatform::start().await;
    let uri = "/platform/projects/default/config.toml?dry_run=true";
    let put = async |text: &[u8]| {
        let sent = Some(("application/toml".to_owned(), text.to_vec()));
        app.request(Method::PUT, uri, sent).await
    };

    let compared = put(b"[auth]\nsite_url = \"env(PATH)\"").await.ok();

    assert_eq!(compared["differences"], json!([]));
    for bad in [
        &b"= nonsense"[..],
        b"[api]\nmax_rows = \"many\"",
        b"[api\n",
        b"\xff\xfe",
        b"a = 1\na = 2",
    ] {
        put(bad).await.expect_status(400);
    }
}

#[tokio::test]
async fn the_management_api_has_the_settings_in_its_own_form() {
    let app = TestPlatform::start().await;
    let reference = app.reference(&ProjectName::Default).await;
    let base = format!("/v1/projects/{reference}");
    let patch = async |path: &str, body: Value| {
        let uri = format!("{base}{path}");
        app.request(Method::PATCH, &uri, json_body(body)).await
    };

    let rest = patch(
        "/postgrest",
        json!({ "db_schema": "public, api", "max_rows": 5 }),
    )
    .await;
    let storage = patch(
        "/config/storage",
        json!({ "fileSizeLimit": 1000, "features": { "imageTransformation": { "enabled": false } } }),
    )
    .await;
    let auth = json!({ "disable_signup": true, "smtp_pass": "hunter2", "smtp_host": "mail.example.com",
        "smtp_port": "25", "smtp_user": "u", "smtp_admin_email": "a@example.com", "newer_member": 1 });
    let auth = patch("/config/auth", auth).await;

    assert_eq!(
        rest.ok(),
        json!({ "db_schema": "public,api", "max_rows": 5, "db_pool": null,
            "db_extra_search_path": "public,extensions" })
    );
    assert_eq!(storage.ok()["fileSizeLimit"], 1000);
    assert_eq!(
        storage.json()["features"]["imageTransformation"]["enabled"],
        false
    );
    let shown = auth.ok();
    assert_eq!(shown["disable_signup"], true);
    assert_eq!(shown["smtp_pass"], "***");
    assert_eq!(shown["smtp_host"], "mail.example.com");
    assert!(shown.as_object().expect("members").len() > 200);
    patch("/config/auth", json!({ "smtp_port": "many" }))
        .await
        .expect_status(400);
    patch("/config/auth", json!([])).await.expect_status(400);
    patch("/postgrest", json!({ "max_rows": -1 }))
        .await
        .expect_status(400);
}
