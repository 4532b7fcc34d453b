//! What projects on one host see and set of each other's cookies and of the browser's origin.

mod support;

use axum::{
    Router,
    response::{AppendHeaders, IntoResponse},
    routing::get,
};
use http::{HeaderMap, Uri, header::COOKIE};
use plinth_gateway::{Mount, Mounts};
use plinth_log::{Level, Source};
use support::{DEFAULT, PLATFORM, Setup, TestResponse};

/// Returns the cookies that it received.
async fn cookies(headers: HeaderMap) -> String {
    let lines: Vec<_> = headers
        .get_all(COOKIE)
        .iter()
        .map(|line| line.to_str().expect("text").to_owned())
        .collect();
    lines.join("|")
}

async fn hostile() -> impl IntoResponse {
    let headers = AppendHeaders([
        ("set-cookie", "sb-platform-auth-token=evil; Path=/console"),
        ("set-cookie", "kept=1"),
        ("set-cookie", "sb-127-auth-token=evil; Path=/"),
        ("clear-site-data", "\"*\""),
        ("strict-transport-security", "max-age=31536000"),
        ("service-worker-allowed", "/"),
        ("x-own", "stays"),
    ]);
    (headers, "done")
}

fn setup() -> Setup {
    let functions = || {
        Router::new()
            .route("/echo", get(cookies))
            .route("/hostile", get(hostile))
    };
    let auth = Router::new().fallback(cookies);
    let mounts = Mounts::new(Router::new(), Router::new())
        .service(Mount::new("/functions/v1", Source::Functions, functions()).with_user_content())
        .service(Mount::new("/auth/v1", Source::Auth, auth))
        .pages(Source::Api, Router::new().fallback(cookies), |path| {
            path == "/sign-in"
        });
    let mut setup = Setup::with_mounts(mounts);
    setup.config.domain = Some("plinth.example".to_owned());
    setup
}

const COOKIES: &str = "a=1; sb-127-auth-token.0=x; sb-platform-auth-token=y; \
    sb-ddddddddddddddddddda-auth-token=z";

fn set_cookies(response: &TestResponse) -> Vec<&str> {
    let lines = response.headers.get_all("set-cookie").iter();
    lines.map(|line| line.to_str().expect("text")).collect()
}

#[tokio::test]
async fn foreign_session_cookies_reach_no_service() {
    let server = setup().start().await;
    let mut client = server.client().await;
    let headers = [("cookie", COOKIES), ("host", "127.0.0.1:54321")];
    let own_host = format!("{DEFAULT}.plinth.example");
    let own_host = [("cookie", COOKIES), ("host", own_host.as_str())];

    let by_ref = format!("/p/{DEFAULT}/functions/v1/echo");
    for (path, headers, expected) in [
        ("/functions/v1/echo", &headers, "a=1; sb-127-auth-token.0=x"),
        ("/auth/v1/any", &headers, "a=1; sb-127-auth-token.0=x"),
        (
            &by_ref,
            &headers,
            "a=1; sb-ddddddddddddddddddda-auth-token=z",
        ),
        ("/p/platform/functions/v1/echo", &headers, "a=1"),
        ("/functions/v1/echo", &own_host, COOKIES),
    ] {
        assert_eq!(client.get(path, headers).await.text(), expected, "{path}");
    }
}

#[tokio::test]
async fn pages_see_the_session_of_their_project() {
    let server = setup().start().await;
    let mut client = server.client().await;
    let headers = [("cookie", COOKIES), ("host", "127.0.0.1:54321")];

    let pages = client.get("/sign-in", &headers).await;
    assert_eq!(pages.text(), "a=1; sb-127-auth-token.0=x");
    let operators = client.get("/console/account", &headers).await;
    assert_eq!(operators.text(), "a=1; sb-platform-auth-token=y");
}

#[tokio::test]
async fn a_response_affects_its_own_project_only() {
    let mut server = setup().start().await;
    let mut client = server.client().await;
    let uri: Uri = format!("/p/{PLATFORM}/functions/v1/hostile")
        .parse()
        .expect("a URI");

    let response = client.get(uri.path(), &[]).await;

    assert_eq!(response.text(), "done");
    assert_eq!(set_cookies(&response), ["kept=1"]);
    assert_eq!(response.header("x-own"), "stays");
    for name in [
        "clear-site-data",
        "strict-transport-security",
        "service-worker-allowed",
    ] {
        assert_eq!(response.header(name), "");
    }
    let record = server.next_record().await;
    assert_eq!(
        (record.level, record.project.as_str()),
        (Level::Warn, PLATFORM)
    );
    assert_eq!(
        record.fields["headers"],
        "clear-site-data, strict-transport-security, service-worker-allowed, set-cookie"
    );
    assert!(!record.message.contains("evil"), "{}", record.message);
}

#[tokio::test]
async fn a_project_with_its_own_host_sends_headers_about_it() {
    let server = setup().start().await;
    let mut client = server.client().await;
    let host = format!("{DEFAULT}.plinth.example");

    let response = client
        .get("/functions/v1/hostile", &[("host", &host)])
        .await;

    assert_eq!(set_cookies(&response).len(), 3);
    assert_eq!(response.header("service-worker-allowed"), "/");
    assert_eq!(response.header("clear-site-data"), "");
}
