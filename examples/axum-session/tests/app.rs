//! The example without a project behind it: pages, redirects and forms.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use axum::body::{Body, to_bytes};
use axum_session::{Settings, app, session_layer};
use http::{Request, StatusCode, header};
use tower::ServiceExt as _;

/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

async fn send(request: Request<Body>) -> (StatusCode, String, String) {
    let settings = Settings {
        project_url: NOWHERE.to_owned(),
        key: "sb_publishable_example".to_owned(),
        public_url: "http://localhost:3000".to_owned(),
        port: 3000,
    };
    let sessions = session_layer(&settings).unwrap();
    let response = app(settings, sessions).oneshot(request).await.unwrap();
    let location = response.headers().get(header::LOCATION);
    let location = location
        .map(|value| value.to_str().unwrap().to_owned())
        .unwrap_or_default();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, location, String::from_utf8(body.to_vec()).unwrap())
}

fn get(path: &str) -> Request<Body> {
    Request::get(path)
        .header(header::ACCEPT, "text/html")
        .body(Body::empty())
        .unwrap()
}

fn form(path: &str, site: &str, body: &str) -> Request<Body> {
    Request::post(path)
        .header("sec-fetch-site", site)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(body.to_owned()))
        .unwrap()
}

#[tokio::test]
async fn anonymous_users_see_the_first_page_and_are_asked_to_sign_in() {
    let (status, _, body) = send(get("/")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.contains("The server does not know you."));
    assert!(body.contains(r#"{"key":"sb_publishable_example","url":"http://127.0.0.1:9"}"#));

    let (status, location, _) = send(get("/private")).await;
    assert_eq!(
        (status, location.as_str()),
        (StatusCode::SEE_OTHER, "/sign-in?next=%2Fprivate")
    );
    let (status, _, body) = send(get("/sign-in?next=%22%3E%3Cscript%3E")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(body.contains(r#"value="&quot;&gt;&lt;script&gt;""#));
}

#[tokio::test]
async fn an_unreachable_project_is_shown_to_the_user() {
    let credentials = "email=ann%40example.com&password=correct+horse";

    let (status, _, body) = send(form("/sign-in", "same-origin", credentials)).await;

    assert_eq!(status, StatusCode::OK);
    assert!(body.contains(r#"<p role="alert">"#), "{body}");
}

#[tokio::test]
async fn forms_of_other_sites_are_rejected() {
    for path in ["/sign-in", "/sign-in/github", "/auth/sign-out"] {
        let (status, _, body) = send(form(path, "cross-site", "email=a&password=b")).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        assert!(body.contains("csrf_rejected"), "{path}");
    }
}

#[tokio::test]
async fn pages_let_nothing_in_and_nothing_out_but_the_project() {
    let settings = Settings {
        project_url: "https://project.example/p/shop".to_owned(),
        key: "sb_publishable_example".to_owned(),
        public_url: "http://localhost:3000".to_owned(),
        port: 3000,
    };
    let sessions = session_layer(&settings).unwrap();
    for path in ["/", "/sign-in"] {
        let app = app(settings.clone(), sessions.clone());
        let response = app.oneshot(get(path)).await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            header("content-security-policy"),
            "default-src 'none'; script-src 'self' https://esm.sh; style-src 'self'; \
             connect-src https://project.example; \
             form-action 'self' https://project.example https://github.com; base-uri 'none'; \
             frame-ancestors 'none'",
            "{path}"
        );
        assert_eq!(header("x-content-type-options"), "nosniff");
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(
            !body.contains("style=") && !body.contains("<style"),
            "{body}"
        );
    }
    let (status, _, style) = send(get("/style.css")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(style.contains("max-width"));
}

#[tokio::test]
async fn the_access_log_shows_no_secret_of_an_address() {
    let traces = plinth_testkit::Traces::capture();

    send(get("/private?tab=2")).await;
    send(get("/auth/callback?code=6b1f0c9e-77aa-4d3e")).await;
    send(get("/private?code=6b1f0c9e-77aa-4d3e")).await;
    send(get("/auth/confirm?token_hash=0a9s8d7f6g5h&type=email")).await;

    let text = traces.text();
    for line in [
        "/private?tab=2",
        "/auth/callback?…",
        "/private?…",
        "/auth/confirm?…",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    plinth_testkit::assert_no_secret(&text, &["6b1f0c9e-77aa-4d3e", "0a9s8d7f6g5h"]);
}
