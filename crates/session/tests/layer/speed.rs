//! What the layer costs (A42): less than 100 µs for a warm request, without any network.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Request, header};
use tower::ServiceExt as _;

use crate::support::{App, USER};

const ROUNDS: usize = 100;
/// Code that was not optimised takes two to three times as long.
const LIMIT: Duration = Duration::from_micros(if cfg!(debug_assertions) { 300 } else { 100 });
const MEASURE_TIMEOUT: Duration = Duration::from_secs(90);

async fn median(app: &Router, cookies: &str) -> Duration {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let request = Request::get("/private").header(header::COOKIE, cookies);
        let request = request.body(Body::empty()).unwrap();
        let begun = Instant::now();
        let response = app.clone().oneshot(request).await.unwrap();
        times.push(begun.elapsed());
        assert_eq!(response.status().as_u16(), 200);
    }
    times.sort();
    times[ROUNDS / 2]
}

/// The same response without the layer.
fn bare() -> Router {
    Router::new().route("/private", get(|| async { USER }))
}

#[tokio::test]
async fn a_warm_request_costs_next_to_nothing() {
    let app = App::new();
    let browser = app.signed_in_for(3600);
    let cookies = browser.cookie_header();
    // The first request fetches keys and checks a signature.
    median(&app.router(), &cookies).await;

    // Other load on the machine only ever makes it slower: measure until one sample is fast enough.
    let begun = Instant::now();
    let mut least = Duration::MAX;
    while least >= LIMIT && begun.elapsed() < MEASURE_TIMEOUT {
        let with = median(&app.router(), &cookies).await;
        let without = median(&bare(), &cookies).await;
        least = least.min(with.saturating_sub(without));
    }

    println!("overhead of a warm request: {least:?}");
    assert!(least < LIMIT, "{least:?}");
    assert_eq!(app.upstream.key_fetches(), 1);
}
