//! What operators see (A17, `docs/sessions.md`).

use metrics_exporter_prometheus::PrometheusBuilder;

use crate::support::App;

#[tokio::test]
async fn every_metric_of_the_documentation_is_there() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let app = App::new();
    app.upstream.refreshing_for(3600);

    app.browser().get("/public").await;
    let mut browser = app.signed_in_for(-10);
    browser.get("/private").await;
    let mut elsewhere = browser.clone().with("sec-fetch-site", Some("cross-site"));
    elsewhere.post("/private", "").await;
    let twice = format!("{}; sb-auth-auth-token=other", browser.cookie_header());
    app.browser()
        .with("cookie", Some(&twice))
        .get("/private")
        .await;

    let page = recorder.handle().render();
    for line in [
        "plinth_session_requests_total{state=\"anonymous\"} 1",
        "plinth_session_requests_total{state=\"signed_in\"} 3",
        "plinth_session_refreshes_total{outcome=\"renewed\"} 1",
        "plinth_session_csrf_rejections_total 1",
        "plinth_session_conflicting_cookies_total 1",
        "plinth_session_keys_age_seconds{project=\"http://auth.test/auth/v1\"} 0",
        "plinth_session_key_fetch_failures_total{project=\"http://auth.test/auth/v1\"} 0",
    ] {
        assert!(
            page.lines().any(|found| found == line),
            "{line} is not in\n{page}"
        );
    }
    let documentation = include_str!("../../../../docs/sessions.md");
    let names = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    for name in names {
        assert!(documentation.contains(&format!("`{name}`")), "{name}");
    }
}
