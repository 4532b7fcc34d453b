//! Import and export.

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request};
use plinth_platform::{
    JobState,
    api::{self, ControlSocket},
};
use plinth_testkit::{Reply, until};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{admin_texts, audited, get, path, platform_with, post, support::TestPlatform, texts};

const T: &str = "create table t (id int primary key, name text)";

async fn import(app: &TestPlatform, options: Value, file: &str) -> Reply {
    upload(app, "data/import", options, file).await
}

async fn upload(app: &TestPlatform, below: &str, options: Value, file: &str) -> Reply {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("options", &options.to_string());
    let uri = format!("{}?{}", path(below), query.finish());
    let sent = Some(("text/csv".to_owned(), file.as_bytes().to_vec()));
    app.request(Method::POST, &uri, sent).await
}

#[tokio::test]
async fn a_file_is_previewed_imported_and_exported() {
    let app = platform_with("select 1").await;
    let file = "id;name\n1;Ada\n2;\"\"\n";
    let preview = upload(&app, "data/import/preview", json!({}), file)
        .await
        .ok();
    assert_eq!(preview["file"]["delimiter"], ";");
    assert_eq!(
        preview["columns"][0],
        json!({ "name": "id", "type": "bigint", "nullable": false })
    );

    let options = json!({ "relation": { "name": "made" }, "create": true, "primary_key": ["id"] });
    let report = import(&app, options, file).await.ok();
    assert_eq!(report["rows_written"], 2);
    assert_eq!(report["bytes"], file.len());
    let jobs = app.platform.list_jobs().await.expect("jobs");
    assert_eq!(
        (jobs[0].kind.as_str(), jobs[0].state),
        ("import", JobState::Succeeded)
    );
    assert_eq!(report["job"], jobs[0].id.to_string());

    let body =
        json!({ "relation": { "name": "made" }, "sort": [{ "column": "id", "descending": true }] });
    let reply = post(&app, "data/export", body).await;
    reply.expect_text(200, "id,name\n2,\"\"\n1,Ada\n");
    reply.expect_header("content-type", "text/csv; charset=utf-8");
    reply.expect_header(
        "content-disposition",
        "attachment; filename*=UTF-8''made%2Ecsv",
    );
    assert_eq!(audited(&app, "data.import").await[0]["rows"], 2);
    assert_eq!(audited(&app, "data.export").await.len(), 1);
}

#[tokio::test]
async fn rows_that_are_left_out_can_be_downloaded() {
    let app = platform_with(T).await;
    let options = json!({ "relation": { "name": "t" }, "on_error": "skip" });
    let report = import(&app, options, "id,name\n1,a\nx,b\n").await.ok();
    assert_eq!(
        (&report["rows_written"], &report["rows_rejected"]),
        (&json!(1), &json!(1))
    );
    let job = report["job"].as_str().expect("an id");
    let reply = get(&app, &format!("data/import/{job}/rejects")).await;
    assert!(
        reply
            .expect_ok()
            .text()
            .starts_with("line,reason,\"id\",\"name\"\n3,"),
        "{reply:?}"
    );
    get(&app, &format!("data/import/{}/rejects", uuid::Uuid::nil()))
        .await
        .expect_status(404);
    get(&app, "data/import/x/rejects").await.expect_status(404);
    // Another project's list is none of this one's.
    let other = app.project("Other").await;
    let other = app.reference(&other).await;
    let foreign = format!("/platform/projects/{other}/data/import/{job}/rejects");
    app.request(Method::GET, &foreign, None)
        .await
        .expect_status(404);
}

#[tokio::test]
async fn a_bad_file_fails_its_job() {
    let app = platform_with(T).await;
    let options = json!({ "relation": { "name": "t" } });
    let answer = import(&app, options.clone(), "id,name\n1,a\n2\n")
        .await
        .expect_status(422)
        .json();
    assert_eq!(
        (&answer["code"], &answer["details"]["line"]),
        (&json!("bad_file"), &json!(3))
    );
    let answer = import(&app, options, "id,name\n1,a\nx,b\n")
        .await
        .expect_status(422)
        .json();
    assert_eq!(answer["details"]["context"], "line 3 of the file");
    assert_eq!(answer["details"]["columns"], json!(["id"]));
    let jobs = app.platform.list_jobs().await.expect("jobs");
    assert!(
        jobs.iter()
            .all(|job| job.state == JobState::Failed && job.error.is_some())
    );
    assert!(texts(&app, "select id::text from t").await.is_empty());

    for (options, status) in [
        (json!({ "relation": { "name": "nothing" } }), 404),
        (json!({}), 400),
        (json!({ "relation": { "name": "t" }, "mode": "erase" }), 400),
        (
            json!({ "relation": { "name": "t" }, "delimiter": "ab" }),
            400,
        ),
    ] {
        import(&app, options, "id\n1\n").await.expect_status(status);
    }
    app.request(Method::POST, &path("data/import"), None)
        .await
        .expect_status(400);
}

/// Sends the beginning of a file and no more.
fn begin_import(
    app: &TestPlatform,
) -> (
    tokio::sync::mpsc::Sender<Bytes>,
    tokio::task::JoinHandle<u16>,
) {
    let (sender, mut pieces) = tokio::sync::mpsc::channel::<Bytes>(1);
    let body = futures_util::stream::poll_fn(move |cx| {
        pieces
            .poll_recv(cx)
            .map(|piece| piece.map(Ok::<_, std::io::Error>))
    });
    let options = "%7B%22relation%22%3A%7B%22name%22%3A%22t%22%7D%2C%22mode%22%3A%22replace%22%7D";
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{}?options={options}", path("data/import")))
        .extension(ControlSocket)
        .body(Body::from_stream(body))
        .expect("a request");
    let routes = api::routes(app.platform.clone());
    let running = tokio::spawn(async move {
        let response = routes.oneshot(request).await.expect("infallible");
        response.status().as_u16()
    });
    (sender, running)
}

async fn send_rows(sender: &tokio::sync::mpsc::Sender<Bytes>) {
    let rows: String = (1..60_000).map(|id| format!("{id},x\n")).collect();
    let file = Bytes::from(format!("id,name\n{rows}"));
    sender.send(file).await.expect("the import reads");
}

#[tokio::test]
async fn an_import_can_be_cancelled() {
    let app = platform_with(&format!("{T}; insert into t values (7, 'stays')")).await;
    let (sender, running) = begin_import(&app);
    send_rows(&sender).await;
    let mut job = None;
    until(async || {
        let jobs = app.platform.list_jobs().await.expect("jobs");
        job = jobs
            .into_iter()
            .find(|job| job.kind == "import" && job.progress.done > 0);
        job.is_some()
    })
    .await;
    let id = job.expect("a job").id;
    let target = path(&format!("data/import/{id}/cancel"));
    app.request(Method::POST, &target, None)
        .await
        .expect_status(200);
    assert_eq!(running.await.expect("no panic"), 409);
    app.request(Method::POST, &target, None)
        .await
        .expect_status(404);
    assert_eq!(texts(&app, "select name from t").await, ["stays"]);
    let job = app.platform.load_job(id).await.expect("a job");
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.error.as_deref(), Some("This was cancelled"));
}

#[tokio::test]
async fn a_killed_session_leaves_everything_as_it_was() {
    let app = platform_with(&format!("{T}; insert into t values (7, 'stays')")).await;
    let (sender, running) = begin_import(&app);
    send_rows(&sender).await;
    let busy = "select pid::text from pg_stat_activity
                where datname = current_database() and query ilike 'copy%' and state = 'active'
                  and pid <> pg_backend_pid()";
    until(async || admin_texts(&app, busy).await.len() == 1).await;
    let kill = "select pg_terminate_backend(pid)::text from pg_stat_activity
                where datname = current_database() and query ilike 'copy%' and state = 'active'
                  and pid <> pg_backend_pid()";
    assert_eq!(admin_texts(&app, kill).await, ["true"]);
    drop(sender);
    let status = running.await.expect("no panic");
    assert!([422, 503].contains(&status), "{status}");
    assert_eq!(texts(&app, "select name from t").await, ["stays"]);
    assert!(
        texts(
            &app,
            "select relname::text from pg_class where relname like 'plinth_import%'"
        )
        .await
        .is_empty()
    );
}
