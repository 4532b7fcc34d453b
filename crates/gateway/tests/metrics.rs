//! `/metrics`: access and content. One test, because a process has one recorder.

mod support;

use axum::{Router, routing::get};
use plinth_gateway::{Metrics, Mount, Mounts};
use plinth_log::Source;
use plinth_token::Secret;
use support::{DEFAULT, Setup};

fn setup(metrics: &Metrics) -> Setup {
    let auth = Router::new().route("/health", get(async || "ok"));
    let mounts = Mounts::new(Router::new(), Router::new());
    let mut setup = Setup::with_mounts(mounts.service(Mount::new("/auth/v1", Source::Auth, auth)));
    setup.metrics = Some(metrics.clone());
    setup
}

#[tokio::test]
async fn metrics_are_counted_and_shown_only_to_those_who_may_see_them() {
    let metrics = Metrics::install().expect("the first recorder");
    assert!(
        Metrics::install().is_err(),
        "there is one recorder per process"
    );

    let mut locked = setup(&metrics);
    locked.config.metrics_token = Some(Secret::new("open sesame"));
    let server = locked.start().await;
    let mut client = server.client().await;
    assert_eq!(client.get("/auth/v1/health", &[]).await.text(), "ok");
    client
        .get(&format!("/p/{}/auth/v1/health", "x".repeat(20)), &[])
        .await;
    let rejected = client.get("/metrics", &[]).await;
    assert_eq!(rejected.error(), (401, "metrics_token_needed".to_owned()));
    assert_eq!(rejected.header("www-authenticate"), "Bearer");
    let wrong = client
        .get("/metrics", &[("authorization", "Bearer open sesam")])
        .await;
    assert_eq!(wrong.status, 401);

    let page = client
        .get("/metrics", &[("authorization", "Bearer open sesame")])
        .await;
    assert_eq!(
        page.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let text = page.text();
    for (name, labels, value) in [
        (
            "plinth_http_requests_total",
            vec!["service=\"auth\"", DEFAULT, "2xx", "GET"],
            "1",
        ),
        (
            "plinth_http_requests_total",
            vec!["service=\"auth\"", "\"none\"", "4xx"],
            "1",
        ),
        (
            "plinth_http_requests_total",
            vec!["service=\"instance\"", "4xx"],
            "2",
        ),
        (
            "plinth_http_request_duration_seconds_bucket",
            vec!["auth", "le=\"60\""],
            "2",
        ),
        ("plinth_http_requests_in_flight", vec![], "1"),
        ("plinth_http_connections", vec![], "1"),
        ("plinth_log_records_dropped_total", vec![], "0"),
        ("plinth_open_projects", vec![], "1"),
    ] {
        let is_wanted =
            |line: &&str| line.starts_with(name) && labels.iter().all(|label| line.contains(label));
        let line = text
            .lines()
            .find(is_wanted)
            .unwrap_or_else(|| panic!("no {name}:\n{text}"));
        assert_eq!(
            line.rsplit_once(' ').map(|(_, value)| value),
            Some(value),
            "{line}"
        );
    }
    assert!(
        !text.contains(&"x".repeat(20)),
        "clients cannot invent labels"
    );

    let mut open = setup(&metrics);
    open.config.open_metrics = true;
    let server = open.start().await;
    assert_eq!(server.get("/metrics").await.status, 200);

    let server = setup(&metrics).start().await;
    let response = server
        .client()
        .await
        .get("/metrics", &[("authorization", "Bearer ")])
        .await;
    assert_eq!(response.status, 401, "no access without a token");
}
