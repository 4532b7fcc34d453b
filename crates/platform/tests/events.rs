//! The stream of events: order, replay, who sees what, and what a restart keeps.

mod support;

use axum::body::Body;
use futures_util::{Stream, StreamExt};
use http::{Method, Request};
use plinth_platform::{TokenLimits, api};
use plinth_project::{ProjectName, ProjectRef};
use plinth_token::Secret;
use serde_json::{Value, json};
use support::{TestPlatform, functions::json_body};
use tower::ServiceExt as _;

/// An open stream of events.
struct Events {
    chunks: std::pin::Pin<Box<dyn Stream<Item = String> + Send>>,
    text: String,
}

/// One event as it was sent.
#[derive(Debug)]
struct Sent {
    id: Option<i64>,
    name: String,
    data: Value,
}

impl Events {
    async fn open(app: &TestPlatform, token: Option<&Secret>, last: Option<i64>) -> Self {
        let mut request = Request::get("/platform/events");
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        match token {
            Some(token) => {
                request = request.header("authorization", format!("Bearer {}", token.expose()));
            }
            None => request = request.extension(api::ControlSocket),
        }
        let request = request.body(Body::empty()).expect("a request");
        let response = api::routes(app.platform.clone()).oneshot(request);
        let response = response.await.expect("a response");
        assert_eq!(response.status(), 200);
        let headers = response.headers();
        assert_eq!(headers["content-type"], "text/event-stream");
        assert_eq!(headers["x-accel-buffering"], "no");
        let chunks = response.into_body().into_data_stream().map(|chunk| {
            let chunk = chunk.expect("a chunk");
            String::from_utf8(chunk.to_vec()).expect("text")
        });
        Self {
            chunks: Box::pin(chunks),
            text: String::new(),
        }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let sent = parse(event);
                self.text = rest.to_owned();
                match sent {
                    Some(sent) => return Some(sent),
                    None => continue,
                }
            }
            let chunk = self.chunks.next();
            let chunk = tokio::time::timeout(plinth_testkit::TEST_TIMEOUT, chunk);
            self.text.push_str(&chunk.await.expect("an event")?);
        }
    }

    /// The next event of this name.
    async fn next_named(&mut self, name: &str) -> Sent {
        loop {
            let sent = self.next().await.expect("an open stream");
            if sent.name == name {
                return sent;
            }
        }
    }
}

/// `None` for a comment.
fn parse(event: &str) -> Option<Sent> {
    let field = |name: &str| {
        let mut lines = event.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(Sent {
        id: field("id").map(|id| id.parse().expect("a number")),
        name: field("event")?.to_owned(),
        data: serde_json::from_str(field("data")?).expect("JSON"),
    })
}

async fn rename(app: &TestPlatform, project: &ProjectRef, name: &str) {
    let uri = format!("/v1/projects/{project}");
    let body = json_body(json!({ "name": name }));
    app.request(Method::PATCH, &uri, body).await.ok();
}

#[tokio::test]
async fn changes_arrive_in_order() {
    let app = TestPlatform::start().await;
    let project = app.reference(&app.project("Shop").await).await;
    let mut events = Events::open(&app, None, None).await;
    let ready = events.next().await.expect("an event");

    for name in ["One", "Two", "\"quoted\" 😀"] {
        rename(&app, &project, name).await;
    }

    assert_eq!(ready.name, "ready");
    let mut last = ready.id.expect("an id");
    for name in ["One", "Two", "\"quoted\" 😀"] {
        let sent = events.next_named("project.renamed").await;
        assert_eq!(sent.data["type"], "project.renamed");
        assert_eq!(sent.data["project"], project.as_str());
        assert_eq!(sent.data["name"], name);
        assert!(sent.data["at"].is_string());
        assert!(sent.id > Some(last), "{sent:?}");
        last = sent.id.expect("an id");
    }
}

#[tokio::test]
async fn a_broken_stream_goes_on_where_it_stopped_even_after_a_restart() {
    let app = TestPlatform::start().await;
    let project = app.reference(&app.project("Shop").await).await;
    let mut events = Events::open(&app, None, None).await;
    rename(&app, &project, "One").await;
    let seen = events.next_named("project.renamed").await.id;
    drop(events);
    rename(&app, &project, "Two").await;

    let mut again = Events::open(&app, None, seen).await;
    let two = again.next_named("project.renamed").await;
    assert_eq!(two.data["name"], "Two");

    let app = app.restart().await;
    rename(&app, &project, "Three").await;
    let mut after = Events::open(&app, None, seen).await;
    for name in ["Two", "Three"] {
        let sent = after.next_named("project.renamed").await;
        assert_eq!(sent.data["name"], name);
    }
}

#[tokio::test]
async fn a_gap_is_told() {
    let app = TestPlatform::start().await;
    let project = app.reference(&app.project("Shop").await).await;
    let unknown = 1_000_000;

    let mut events = Events::open(&app, None, Some(unknown)).await;

    let reset = events.next().await.expect("an event");
    assert_eq!(reset.name, "reset");
    assert!(reset.id < Some(unknown));
    rename(&app, &project, "One").await;
    assert_eq!(
        events.next_named("project.renamed").await.data["name"],
        "One"
    );
}

#[tokio::test]
async fn a_token_sees_only_its_projects() {
    let app = TestPlatform::start().await;
    let mine = app.reference(&app.project("Mine").await).await;
    let other = app.reference(&app.project("Other").await).await;
    let limits = TokenLimits {
        projects: Some(vec![mine.clone()]),
        ..TokenLimits::default()
    };
    let (token, secret) = app.token_with("ci", limits).await;
    let mut events = Events::open(&app, Some(&secret), None).await;
    let ready = events.next().await.expect("an event").id;

    rename(&app, &other, "Hidden").await;
    let zero = app.reference(&ProjectName::Platform).await;
    rename(&app, &zero, "Hidden too").await;
    rename(&app, &mine, "Shown").await;

    let sent = events.next().await.expect("an event");
    assert_eq!(sent.data["name"], "Shown", "{sent:?}");
    drop(events);
    let mut replayed = Events::open(&app, Some(&secret), ready).await;
    let sent = replayed.next().await.expect("an event");
    assert_eq!(sent.data["name"], "Shown", "{sent:?}");
    drop(replayed);

    let uri = format!("/platform/tokens/{}", token.id);
    app.request(Method::DELETE, &uri, None).await.ok();
    let reply = app
        .send(
            Request::get("/platform/events")
                .header("authorization", format!("Bearer {}", secret.expose()))
                .body(Body::empty())
                .expect("a request"),
        )
        .await;
    reply.expect_status(401);
}

#[tokio::test]
async fn a_shutdown_ends_streams() {
    let app = TestPlatform::start().await;
    let mut events = Events::open(&app, None, None).await;
    assert_eq!(events.next().await.expect("an event").name, "ready");

    app.platform.begin_shutdown();

    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn only_the_latest_thousand_are_kept() {
    let app = TestPlatform::start().await;
    let zero = plinth_testkit::TestServer::shared().await.admin();
    let zero = zero.database(app.platform.references().platform.as_str());
    let zero = zero.connect().await.expect("project zero");
    let sql = "select platform.publish_event('project.renamed', null, null)
               from generate_series(1, 1250)";
    zero.query(sql, &[]).await.expect("events");

    let sql = "select count(*), max(id) from platform.events";
    let row = zero.query_one(sql, &[]).await.expect("a count");
    let (kept, latest): (i64, i64) = (row.get(0), row.get(1));

    assert!((1000..1100).contains(&kept), "{kept}");
    let mut events = Events::open(&app, None, Some(latest - 1000)).await;
    let first = events.next().await.expect("an event");
    assert_eq!(first.id, Some(latest - 999));
    let mut too_late = Events::open(&app, None, Some(latest - 1200)).await;
    assert_eq!(too_late.next().await.expect("an event").name, "reset");
}

#[tokio::test]
async fn bad_ids_and_projects_are_rejected() {
    let app = TestPlatform::start().await;
    let get = async |uri: &str, last: &str| {
        let request = Request::get(uri)
            .header("last-event-id", last)
            .extension(api::ControlSocket)
            .body(Body::empty())
            .expect("a request");
        app.send(request).await
    };
    for last in ["x", "1.5", "99999999999999999999", "1; drop"] {
        let reply = get("/platform/events", last).await;
        assert_eq!(reply.expect_status(400).json()["code"], "invalid_request");
    }
    get("/platform/events?last_event_id=x", "")
        .await
        .expect_status(400);
    get("/platform/events?project=nonsense", "1")
        .await
        .expect_status(404);
}
