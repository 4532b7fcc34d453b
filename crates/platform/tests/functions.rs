//! Deployed functions over the Management API (console contract §2.4.3).

mod support;

use std::collections::BTreeMap;

use http::{Method, Request};
use plinth_platform::{Bundle, Deployment, MAX_BUNDLE_BYTES, SourceFile};
use plinth_project::{FunctionSource, FunctionStore, ProjectName, UnpackError};
use serde_json::{Value, json};
use support::{
    TestPlatform,
    functions::{Sent, form, json_body, read_folder},
};

const HELLO: &str = "supabase/functions/hello/index.ts";
const SHARED: &str = "supabase/functions/_shared/cors.ts";
const DENO_JSON: &str = "supabase/functions/hello/deno.json";

fn hello(content: &str) -> Sent {
    let metadata = json!({ "name": "hello", "entrypoint_path": HELLO, "static_patterns": [] });
    form(metadata, &[(HELLO, content.as_bytes())])
}

async fn path(app: &TestPlatform, name: &ProjectName, rest: &str) -> String {
    format!("/v1/projects/{}{rest}", app.reference(name).await)
}

async fn deploy(app: &TestPlatform, slug: &str, sent: Sent) -> Value {
    let uri = path(
        app,
        &ProjectName::Default,
        &format!("/functions/deploy?slug={slug}"),
    )
    .await;
    app.request(Method::POST, &uri, sent)
        .await
        .expect_status(201)
        .json()
}

async fn list(app: &TestPlatform) -> Vec<(String, i64)> {
    let uri = path(app, &ProjectName::Default, "/functions").await;
    let functions = app.request(Method::GET, &uri, None).await.ok();
    let functions = functions.as_array().expect("a list").iter();
    let pair = |function: &Value| {
        let slug = function["slug"].as_str().expect("a slug").to_owned();
        (slug, function["version"].as_i64().expect("a version"))
    };
    functions.map(pair).collect()
}

/// What the active version of a function consists of.
async fn sources(app: &TestPlatform, name: &ProjectName, slug: &str) -> BTreeMap<String, String> {
    let reference = app.reference(name).await;
    let functions = app.platform.functions(&reference).await.expect("functions");
    let function = functions.iter().find(|function| function.slug == slug);
    let folder = tempfile::tempdir().expect("a folder");
    let function = function.expect("the function");
    let unpacked = app
        .platform
        .unpack(&reference, function, folder.path())
        .await;
    unpacked.expect("unpacked");
    let mut files = BTreeMap::new();
    read_folder(folder.path(), folder.path(), &mut files);
    files
}

#[tokio::test]
async fn a_deployed_function_is_described_as_by_the_management_api() {
    let app = TestPlatform::start().await;
    let metadata = json!({
        "name": "hello", "entrypoint_path": HELLO, "import_map_path": DENO_JSON,
        "static_patterns": ["supabase/functions/hello/*.html"], "verify_jwt": false,
    });
    let files: &[(&str, &[u8])] = &[(HELLO, b"serve"), (SHARED, b"cors"), (DENO_JSON, b"{}")];

    let made = deploy(&app, "hello", form(metadata, files)).await;

    let reference = app.reference(&ProjectName::Default).await;
    let id = made["id"].as_str().expect("an id");
    let place = |path: &str| format!("file:///tmp/user_fn_{reference}_{id}_1/{path}");
    let (created, updated) = (&made["created_at"], &made["updated_at"]);
    let now = support::now() * 1000;
    for time in [created, updated] {
        let time = time.as_i64().expect("milliseconds");
        assert!((now - 60_000..=now + 60_000).contains(&time), "{time}");
    }
    let expected = json!({
        "id": made["id"], "slug": "hello", "name": "hello", "status": "ACTIVE", "version": 1,
        "created_at": created, "updated_at": updated, "verify_jwt": false, "import_map": true,
        "entrypoint_path": place(HELLO), "import_map_path": place(DENO_JSON),
        "ezbr_sha256": made["ezbr_sha256"], "url": "http://127.0.0.1:54321/functions/v1/hello",
    });
    assert_eq!(made, expected);
    assert_eq!(made["ezbr_sha256"].as_str().map(str::len), Some(64));
    let base = path(&app, &ProjectName::Default, "/functions").await;
    let listed = app.request(Method::GET, &base, None).await.ok();
    assert_eq!(listed, json!([expected]));
    let shown = app
        .request(Method::GET, &format!("{base}/hello"), None)
        .await;
    assert_eq!(shown.ok(), expected);
}

#[tokio::test]
async fn a_runner_gets_the_files_and_settings_of_a_function() {
    let app = TestPlatform::start().await;
    let metadata = json!({
        "entrypoint_path": HELLO, "import_map_path": "",
        "static_patterns": ["./supabase/functions/hello/*.html"],
    });
    deploy(
        &app,
        "hello",
        form(metadata, &[(HELLO, b"serve"), (SHARED, b"cors")]),
    )
    .await;
    let reference = app.reference(&ProjectName::Default).await;

    let functions = app.platform.functions(&reference).await.expect("functions");
    let [function] = functions.as_slice() else {
        panic!("one function: {functions:?}");
    };

    assert!(function.verify_jwt, "the default");
    let expected = FunctionSource {
        entrypoint: HELLO.to_owned(),
        import_map: None,
        static_patterns: vec!["supabase/functions/hello/*.html".to_owned()],
    };
    assert_eq!(function.source, expected);
    let files = sources(&app, &ProjectName::Default, "hello").await;
    let expected = [(SHARED, "cors"), (HELLO, "serve")];
    let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(files, BTreeMap::from(expected));

    let other = app.reference(&app.project("Other").await).await;
    let folder = tempfile::tempdir().expect("a folder");
    let foreign = app.platform.unpack(&other, function, folder.path()).await;
    assert!(
        matches!(foreign, Err(UnpackError::Gone)),
        "of another project"
    );
    let uri = path(&app, &ProjectName::Default, "/functions/hello").await;
    app.request(Method::DELETE, &uri, None)
        .await
        .expect_status(200);
    let gone = app
        .platform
        .unpack(&reference, function, folder.path())
        .await;
    assert!(matches!(gone, Err(UnpackError::Gone)));
    assert_eq!(
        app.platform.functions(&reference).await.expect("functions"),
        []
    );
}

#[tokio::test]
async fn sources_come_back_as_they_were_deployed() {
    let app = TestPlatform::start().await;
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let files: &[(&str, &[u8])] = &[(HELLO, b"serve\r\n--x"), ("a/ü b.wasm", &binary)];
    deploy(
        &app,
        "hello",
        form(json!({ "entrypoint_path": HELLO }), files),
    )
    .await;

    let uri = path(&app, &ProjectName::Default, "/functions/hello/body").await;
    let response = app.request(Method::GET, &uri, None).await;

    assert_eq!(response.status, 200);
    let content_type = response.headers["content-type"].to_str().expect("text");
    let boundary = multer::parse_boundary(content_type).expect("a form");
    let body = futures_util::stream::iter([Ok::<_, std::io::Error>(response.body)]);
    let mut form = multer::Multipart::new(body, boundary);
    let metadata = form.next_field().await.expect("readable").expect("a part");
    assert_eq!(metadata.name(), Some("metadata"));
    assert_eq!(metadata.file_name(), None);
    let text = metadata.text().await.expect("text");
    assert_eq!(text, json!({ "deno2_entrypoint_path": HELLO }).to_string());
    let mut found = Vec::new();
    while let Some(part) = form.next_field().await.expect("readable") {
        assert_eq!(part.name(), Some("file"));
        let path = part.file_name().expect("a path").to_owned();
        found.push((path, part.bytes().await.expect("bytes").to_vec()));
    }
    let expected: Vec<(String, Vec<u8>)> = [files[1], files[0]]
        .map(|(path, content)| (path.to_owned(), content.to_vec()))
        .to_vec();
    assert_eq!(found, expected);

    let mut eszip = Request::builder()
        .uri(&uri)
        .extension(plinth_platform::api::ControlSocket);
    eszip = eszip.header("accept", "application/vnd.denoland.eszip");
    let eszip = eszip.body(axum::body::Body::empty()).expect("a request");
    app.send(eszip).await.expect_status(404);
}

#[tokio::test]
async fn bundles_become_active_together_or_not_at_all() {
    let app = TestPlatform::start().await;
    let base = path(&app, &ProjectName::Default, "/functions").await;
    let mut bundled = Vec::new();
    for slug in ["b", "a"] {
        let uri = format!("{base}/deploy?slug={slug}&bundleOnly=true");
        bundled.push(
            app.request(Method::POST, &uri, hello("1"))
                .await
                .expect_status(201)
                .json(),
        );
    }
    assert_eq!(list(&app).await, [], "nothing is active yet");
    app.request(Method::GET, &format!("{base}/a"), None)
        .await
        .expect_status(404);

    let mut wrong = bundled.clone();
    wrong[0]["version"] = 7.into();
    let rejected = app
        .request(Method::PUT, &base, json_body(json!(wrong)))
        .await;
    rejected.expect_status(404);
    assert_eq!(list(&app).await, [], "not the other one either");
    bundled[0]["verify_jwt"] = false.into();
    let done = app
        .request(Method::PUT, &base, json_body(json!(bundled)))
        .await;

    let done = done.ok();
    let slugs: Vec<&Value> = done["functions"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    assert_eq!(slugs.len(), 2);
    assert_eq!(slugs[1]["slug"], "b");
    assert_eq!(slugs[1]["verify_jwt"], false);
    assert_eq!(list(&app).await, [("a".to_owned(), 1), ("b".to_owned(), 1)]);

    let check = async |items: Value, status: u16| {
        app.request(Method::PUT, &base, json_body(items))
            .await
            .expect_status(status);
    };
    let a = &bundled[1];
    check(json!([a, a]), 400).await;
    check(json!({}), 400).await;
    check(json!([{ "slug": "a" }]), 400).await;
    check(json!([{ "slug": "none", "version": 1 }]), 404).await;
    check(
        json!([{ "slug": "a", "version": 1, "status": "REMOVED" }]),
        400,
    )
    .await;
    check(json!([{ "slug": "a", "version": 1, "name": "" }]), 400).await;
    let other = json!([{ "slug": "a", "version": 1, "id": bundled[0]["id"] }]);
    check(other, 409).await;
    check(json!([]), 200).await;
    assert_eq!(list(&app).await.len(), 2);
}

#[tokio::test]
async fn a_rollback_goes_to_what_was_active_before() {
    let app = TestPlatform::start().await;
    for text in ["one", "two", "three"] {
        deploy(&app, "hello", hello(text)).await;
    }
    let base = path(&app, &ProjectName::Default, "/functions").await;
    let bundle_only = format!("{base}/deploy?slug=hello&bundleOnly=true");
    app.request(Method::POST, &bundle_only, hello("never active"))
        .await
        .expect_status(201);
    let uri = "/platform/projects/default/functions/hello/rollback";
    let roll_back = async |body: Value| app.request(Method::POST, uri, json_body(body)).await;
    let content = async || sources(&app, &ProjectName::Default, "hello").await[HELLO].clone();

    assert_eq!(roll_back(json!({})).await.ok()["version"], 2);
    assert_eq!(content().await, "two");
    let made = deploy(&app, "hello", hello("five")).await;
    assert_eq!(made["version"], 5, "numbers are not used again");
    assert_eq!(
        roll_back(json!({})).await.ok()["version"],
        2,
        "not the bad one"
    );
    assert_eq!(roll_back(json!({})).await.ok()["version"], 1);
    roll_back(json!({})).await.expect_status(409);
    assert_eq!(content().await, "one");
    assert_eq!(roll_back(json!({ "version": 3 })).await.ok()["version"], 3);

    roll_back(json!({ "version": 9 })).await.expect_status(404);
    roll_back(json!({ "version": "x" }))
        .await
        .expect_status(400);
    let none = "/platform/projects/default/functions/none/rollback";
    app.request(Method::POST, none, json_body(json!({})))
        .await
        .expect_status(404);
    let versions = "/platform/projects/default/functions/hello/versions";
    let versions = app.request(Method::GET, versions, None).await.ok();
    let versions: Vec<(i64, bool)> = versions
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| {
            (
                row["version"].as_i64().unwrap_or(0),
                row["is_active"] == true,
            )
        })
        .collect();
    let expected = [(5, false), (4, false), (3, true), (2, false), (1, false)];
    assert_eq!(versions, expected);
}

#[tokio::test]
async fn old_versions_are_pruned_but_never_the_active_one() {
    let app = TestPlatform::start().await;
    for number in 1..=12 {
        deploy(&app, "hello", hello(&number.to_string())).await;
    }
    let versions = async || {
        let versions = app
            .platform
            .list_function_versions(&ProjectName::Default, "hello")
            .await;
        let versions = versions.expect("versions");
        versions
            .iter()
            .map(|version| version.version)
            .collect::<Vec<_>>()
    };
    assert_eq!(versions().await, (3..=12).rev().collect::<Vec<_>>());
    let back = app
        .platform
        .roll_back_function(&ProjectName::Default, "hello", Some(3))
        .await;
    assert_eq!(back.expect("kept").version, 3);

    let base = path(&app, &ProjectName::Default, "/functions").await;
    let bundle_only = format!("{base}/deploy?slug=hello&bundleOnly=true");
    app.request(Method::POST, &bundle_only, hello("13"))
        .await
        .expect_status(201);
    app.request(Method::POST, &bundle_only, hello("14"))
        .await
        .expect_status(201);

    let mut expected: Vec<i32> = (5..=14).rev().collect();
    expected.push(3);
    assert_eq!(versions().await, expected);
}

#[tokio::test]
async fn settings_stay_unless_they_are_changed() {
    let app = TestPlatform::start().await;
    let open = json!({ "name": "Hello", "entrypoint_path": HELLO, "verify_jwt": false });
    deploy(&app, "hello", form(open, &[(HELLO, b"1")])).await;

    let silent = form(json!({ "entrypoint_path": HELLO }), &[(HELLO, b"2")]);
    let made = deploy(&app, "hello", silent).await;

    assert_eq!(made["verify_jwt"], false);
    assert_eq!(made["name"], "Hello");
    let uri = path(&app, &ProjectName::Default, "/functions/hello").await;
    let patch = async |body: Value| app.request(Method::PATCH, &uri, json_body(body)).await;
    let patched = patch(json!({ "verify_jwt": true, "name": "New" }))
        .await
        .ok();
    assert_eq!(patched["version"], 2);
    assert_eq!(patched["verify_jwt"], true);
    assert_eq!(patched["name"], "New");
    let patched = patch(json!({ "body": "Deno.serve(() => new Response())" }))
        .await
        .ok();
    assert_eq!(patched["version"], 3);
    let entrypoint = patched["entrypoint_path"].as_str().expect("a URL");
    assert!(entrypoint.ends_with("_3/index.ts"), "{entrypoint}");
    assert_eq!(patched["verify_jwt"], true);
    patch(json!({ "name": "" })).await.expect_status(400);
    patch(json!({ "verify_jwt": "maybe" }))
        .await
        .expect_status(400);
    let none = path(&app, &ProjectName::Default, "/functions/none").await;
    for body in [json!({ "name": "x" }), json!({ "body": "x" })] {
        app.request(Method::PATCH, &none, json_body(body))
            .await
            .expect_status(404);
    }
}

#[tokio::test]
async fn a_function_of_one_text_is_made_once() {
    let app = TestPlatform::start().await;
    let base = path(&app, &ProjectName::Default, "/functions").await;
    let body = json!({ "slug": "one", "name": "One", "body": "text", "verify_jwt": false });

    let made = app
        .request(Method::POST, &base, json_body(body.clone()))
        .await
        .expect_status(201)
        .json();
    let again = app
        .request(Method::POST, &base, json_body(body))
        .await
        .expect_status(400)
        .json();

    assert_eq!(made["verify_jwt"], false);
    assert_eq!(made["import_map"], false);
    assert!(
        made.get("import_map_path").is_none(),
        "the CLI reads no null"
    );
    let files = sources(&app, &ProjectName::Default, "one").await;
    assert_eq!(
        files,
        BTreeMap::from([("index.ts".to_owned(), "text".to_owned())])
    );
    let message = again["message"].as_str().expect("a message");
    assert!(message.contains("Duplicated function slug"), "{message}");
    let eszip = Some(("application/vnd.denoland.eszip".to_owned(), vec![1, 2, 3]));
    let rejected = app
        .request(Method::POST, &format!("{base}?slug=a"), eszip)
        .await
        .expect_status(404)
        .json();
    let message = rejected["message"].as_str().expect("a message");
    assert!(message.starts_with("Not available on Plinth"), "{message}");
}

#[tokio::test]
async fn what_cannot_be_deployed_leaves_nothing_behind() {
    let app = TestPlatform::start().await;
    let base = path(&app, &ProjectName::Default, "/functions").await;
    let entry = json!({ "entrypoint_path": "index.ts" });
    let index: (&str, &[u8]) = ("index.ts", b"1");
    let with = |path: &str| form(entry.clone(), &[index, (path, b"x")]);
    let check = async |query: &str, sent: Sent, status: u16, part: &str| {
        let uri = format!("{base}/deploy{query}");
        let response = app
            .request(Method::POST, &uri, sent)
            .await
            .expect_status(status)
            .json();
        let message = response["message"].as_str().expect("a message");
        assert!(message.contains(part), "{query}: {message}");
    };
    let good = || form(entry.clone(), &[index]);

    check(
        "?slug=_shared",
        good(),
        400,
        "Invalid Function name: _shared",
    )
    .await;
    check("?slug=", good(), 400, "Invalid Function name").await;
    check("?slug=a%00b", good(), 400, "Invalid Function name").await;
    check("", good(), 400, "slug").await;
    check("?slug=a&bundleOnly=maybe", good(), 400, "").await;
    check("?slug=a", None, 400, "form").await;
    check("?slug=a", json_body(json!({})), 400, "form").await;
    check(
        "?slug=a",
        Some(("multipart/form-data; boundary=x".to_owned(), vec![0; 100])),
        400,
        "form",
    )
    .await;
    check("?slug=a", form(json!([]), &[index]), 400, "metadata").await;
    check(
        "?slug=a",
        form(json!({ "entrypoint_path": "b.ts" }), &[index]),
        400,
        "Failed to bundle: b.ts",
    )
    .await;
    check("?slug=a", with("../b.ts"), 400, "leads out").await;
    check("?slug=a", with("/etc/passwd"), 400, "relative").await;
    check("?slug=a", with("a\\b"), 400, "backslash").await;
    check("?slug=a", with("a\u{1}b"), 400, "").await;
    check("?slug=a", with("index.ts"), 400, "twice").await;
    check("?slug=a", with("index.ts/b"), 400, "both").await;
    let long_name = json!({ "entrypoint_path": "index.ts", "name": "n".repeat(257) });
    check("?slug=a", form(long_name, &[index]), 400, "name").await;
    let nul = json!({ "entrypoint_path": "index.ts", "name": "a\0b" });
    check("?slug=a", form(nul, &[index]), 400, "name").await;
    let large = vec![b' '; MAX_BUNDLE_BYTES + 1];
    check(
        "?slug=a",
        form(entry.clone(), &[("index.ts", &large)]),
        413,
        "larger",
    )
    .await;

    let tables = app.platform.list_functions(&ProjectName::Default).await;
    assert_eq!(tables.expect("functions"), []);
    for (method, rest) in [
        (Method::GET, "/none"),
        (Method::DELETE, "/none"),
        (Method::GET, "/none/body"),
        (Method::POST, "/none"),
        (Method::PUT, "/none"),
    ] {
        let uri = format!("{base}{rest}");
        app.request(method, &uri, None).await.expect_status(404);
    }
    let nowhere = "/v1/projects/aaaaaaaaaaaaaaaaaaaa/functions";
    app.request(Method::GET, nowhere, None)
        .await
        .expect_status(404);
    app.request(Method::POST, &format!("{nowhere}/deploy?slug=a"), good())
        .await
        .expect_status(404);
}

#[tokio::test]
async fn other_users_and_tokens_reach_no_further_than_they_may() {
    let app = TestPlatform::start().await;
    let platform = app.platform.references().platform.clone();
    let (_, token) = app.token("ci").await;
    let check = async |project: &str, rest: &str, bearer: Option<&str>, status: u16| {
        let mut request = Request::builder().uri(format!("/v1/projects/{project}{rest}"));
        if let Some(bearer) = bearer {
            request = request.header("authorization", format!("Bearer {bearer}"));
        }
        let request = request.body(axum::body::Body::empty()).expect("a request");
        app.send(request).await.expect_status(status);
    };
    let default = app.reference(&ProjectName::Default).await;
    for rest in ["/functions", "/secrets"] {
        check(default.as_str(), rest, None, 401).await;
        check(default.as_str(), rest, Some("sbp_0000"), 401).await;
        check(default.as_str(), rest, Some(token.expose()), 200).await;
        check(platform.as_str(), rest, Some(token.expose()), 403).await;
    }
}

#[tokio::test]
async fn a_deployment_without_disk_space_is_503() {
    let app = TestPlatform::start().await;
    app.with_runner();
    let base = path(&app, &ProjectName::Default, "/functions").await;

    let uri = format!("{base}/deploy?slug=hello");
    let failed = app.request(Method::POST, &uri, hello("LARGE")).await;

    let expected = json!({
        "code": "no_space",
        "message": "The server has no space left for this request",
    });
    assert_eq!(failed.expect_status(503).json(), expected);
    assert_eq!(list(&app).await, []);
}

#[tokio::test]
async fn a_runner_prepares_functions_and_is_notified_of_changes() {
    let app = TestPlatform::start().await;
    let runner = app.with_runner();
    let base = path(&app, &ProjectName::Default, "/functions").await;

    let uri = format!("{base}/deploy?slug=hello");
    let bad = app
        .request(Method::POST, &uri, hello("SYNTAX ERROR"))
        .await
        .expect_status(400)
        .json();
    assert_eq!(
        bad["message"],
        format!("Failed to bundle: {HELLO}:1 Unexpected token")
    );
    assert_eq!(list(&app).await, []);
    assert_eq!(runner.changes(), 0);

    deploy(&app, "hello", hello("serve")).await;
    {
        let prepared = runner.prepared.lock().expect("no panic");
        let (source, files) = prepared.first().expect("prepared");
        assert_eq!(source.entrypoint, HELLO);
        assert_eq!(files[HELLO], "serve");
    }
    assert_eq!(runner.changes(), 1);
    let bundle_only = format!("{base}/deploy?slug=hello&bundleOnly=true");
    let bundled = app
        .request(Method::POST, &bundle_only, hello("2"))
        .await
        .expect_status(201)
        .json();
    assert_eq!(runner.changes(), 1, "requests go where they went");
    app.request(Method::PUT, &base, json_body(json!([bundled])))
        .await
        .expect_status(200);
    assert_eq!(runner.changes(), 2);
    let secrets = path(&app, &ProjectName::Default, "/secrets").await;
    let set = json!([{ "name": "A", "value": "1" }]);
    app.request(Method::POST, &secrets, json_body(set))
        .await
        .expect_status(201);
    assert_eq!(runner.changes(), 3);
    let own = format!("{base}/hello");
    app.request(
        Method::PATCH,
        &own,
        json_body(json!({ "verify_jwt": false })),
    )
    .await
    .expect_status(200);
    app.request(Method::DELETE, &own, None)
        .await
        .expect_status(200);
    assert_eq!(runner.changes(), 5);
}

#[tokio::test]
async fn other_nodes_are_notified_of_a_deployment_once() {
    let app = TestPlatform::start().await;
    let runner = app.with_runner();
    let (target, channel) = app.platform.notification_channel();
    let stop = tokio_util::sync::CancellationToken::new();
    let (mut heard, _listener) = plinth_db::listen(target, vec![channel.to_owned()], stop.clone());
    assert!(matches!(
        heard.recv().await,
        Some(plinth_db::ListenEvent::Connected)
    ));

    deploy(&app, "hello", hello("1")).await;

    let Some(plinth_db::ListenEvent::Notification { payload, .. }) = heard.recv().await else {
        panic!("an announcement");
    };
    app.platform.apply_notification(&payload).await;
    assert_eq!(runner.changes(), 1, "this node knew before");
    let reference = app.reference(&ProjectName::Default).await;
    let from_elsewhere = format!("functions {reference} {}", uuid::Uuid::new_v4());
    app.platform.apply_notification(&from_elsewhere).await;
    assert_eq!(runner.changes(), 2);
    app.platform.apply_notification(reference.as_str()).await;
    assert_eq!(runner.changes(), 3, "functions know the project's keys");
    let gone = plinth_project::ProjectRef::generate();
    app.platform.apply_notification(gone.as_str()).await;
    app.platform.drain().await;
    assert_eq!(*runner.removed.lock().expect("no panic"), [gone]);
    app.platform.apply_notification("nonsense").await;
    stop.cancel();
}

#[tokio::test]
async fn a_project_that_is_gone_takes_its_functions_along() {
    let app = TestPlatform::start().await;
    let runner = app.with_runner();
    let name = app.project("Shop").await;
    let uri = path(&app, &name, "/functions/deploy?slug=hello").await;
    app.request(Method::POST, &uri, hello("1"))
        .await
        .expect_status(201);
    let reference = app.reference(&name).await;

    app.platform
        .delete_project(&name, true)
        .await
        .expect("purged");

    let removed = runner.removed.lock().expect("no panic").clone();
    assert_eq!(removed, std::slice::from_ref(&reference));
    assert_eq!(
        app.platform.functions(&reference).await.expect("functions"),
        []
    );
}

#[tokio::test]
async fn a_paused_project_takes_secrets_but_no_deployments() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    app.platform.pause_project(&name).await.expect("paused");
    let uri = path(&app, &name, "/functions/deploy?slug=hello").await;

    app.request(Method::POST, &uri, hello("1"))
        .await
        .expect_status(409);
    let values = BTreeMap::from([("KEY".to_owned(), "value".to_owned())]);
    app.platform.set_secrets(&name, &values).await.expect("set");

    app.platform.resume_project(&name).await.expect("resumed");
    app.request(Method::POST, &uri, hello("1"))
        .await
        .expect_status(201);
}

#[tokio::test]
async fn a_branch_runs_what_its_parent_runs() {
    let app = TestPlatform::start().await;
    let name = app.project("Shop").await;
    let uri = path(&app, &name, "/functions/deploy?slug=hello").await;
    for text in ["one", "two"] {
        app.request(Method::POST, &uri, hello(text))
            .await
            .expect_status(201);
    }
    let values = BTreeMap::from([("KEY".to_owned(), "value".to_owned())]);
    app.platform.set_secrets(&name, &values).await.expect("set");
    let request = plinth_platform::BranchRequest {
        name: "try-it".to_owned(),
        end_sessions: true,
        ..Default::default()
    };

    let branch = app
        .platform
        .create_branch(&name, &request)
        .await
        .expect("a branch");

    let branch = ProjectName::Ref(branch.reference);
    assert_eq!(sources(&app, &branch, "hello").await[HELLO], "two");
    let reference = app.reference(&branch).await;
    assert_eq!(
        app.platform.secrets(&reference).await.expect("secrets"),
        values
    );
    app.platform
        .delete_function(&branch, "hello")
        .await
        .expect("deleted");
    assert_eq!(sources(&app, &name, "hello").await[HELLO], "two");
}

#[tokio::test]
async fn deployments_at_once_all_become_versions() {
    let app = TestPlatform::start().await;
    let deployments = (0..8).map(|number| {
        let platform = app.platform.clone();
        tokio::spawn(async move {
            let source = FunctionSource {
                entrypoint: "index.ts".to_owned(),
                import_map: None,
                static_patterns: Vec::new(),
            };
            let file = SourceFile {
                path: "index.ts".to_owned(),
                content: number.to_string().into(),
            };
            let deployment = Deployment {
                slug: "hello".to_owned(),
                name: None,
                verify_jwt: None,
                bundle: Bundle::new(source, vec![file]).expect("a bundle"),
                activates: true,
            };
            let made = platform
                .deploy_function(&ProjectName::Default, &deployment)
                .await;
            made.expect("deployed").version
        })
    });
    let mut versions = Vec::new();
    for deployment in deployments.collect::<Vec<_>>() {
        versions.push(deployment.await.expect("no panic"));
    }

    versions.sort_unstable();
    assert_eq!(versions, (1..=8).collect::<Vec<_>>());
    assert_eq!(list(&app).await, [("hello".to_owned(), 8)]);
}
