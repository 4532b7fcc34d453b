//! Which project a request reaches, and what the service finds in it.

mod support;

use axum::{
    Extension, Json, Router,
    extract::OriginalUri,
    response::{Html, IntoResponse},
    routing::{any, get},
};
use http::{HeaderMap, StatusCode, Uri};
use plinth_gateway::{Mount, Mounts, Readiness};
use plinth_log::{Level, Source};
use plinth_project::{Caller, CallerError, Credentials, PathNotFound, Project, RequestId};
use plinth_project::{ClientAddress, PublicUrl};
use serde_json::{Value, json};
use support::{
    BROKEN, COMING_UP, DEFAULT, PAUSED, PLATFORM, Setup, UNAVAILABLE, secret_key, user_token,
};

/// Returns everything that a service receives.
#[allow(clippy::too_many_arguments)]
async fn mirror(
    Extension(project): Extension<Project>,
    Extension(credentials): Extension<Credentials>,
    Extension(caller): Extension<Result<Caller, CallerError>>,
    Extension(id): Extension<RequestId>,
    Extension(client): Extension<ClientAddress>,
    Extension(public_url): Extension<PublicUrl>,
    OriginalUri(original): OriginalUri,
    uri: Uri,
    headers: HeaderMap,
) -> Json<Value> {
    Json(json!({
        "project": project.reference().as_str(),
        "has_key": credentials.api_key.is_some(),
        "role": caller.as_ref().ok().map(Caller::role),
        "rejection": caller.as_ref().err().map(ToString::to_string),
        "id": id.to_string(),
        "id_header": headers["x-request-id"].to_str().expect("text"),
        "client": client.ip.to_string(),
        "forwarded_for": headers["x-forwarded-for"].to_str().expect("text"),
        "public_url": public_url.as_str(),
        "original": original.to_string(),
        "uri": uri.to_string(),
    }))
}

fn setup() -> Setup {
    let auth = Router::new().fallback(mirror);
    let functions = Router::new().route("/page", get(async || Html("<script>1</script>")));
    let platform = Router::new().route("/v1/projects", any(async || "the platform"));
    let landing = Router::new().route("/", get(async || "welcome"));
    let mounts = Mounts::new(platform, landing)
        .service(Mount::new("/auth/v1", Source::Auth, auth))
        .service(Mount::new("/functions/v1", Source::Functions, functions).with_user_content());
    let mut setup = Setup::with_mounts(mounts);
    setup.config.domain = Some("plinth.example".to_owned());
    setup
}

#[tokio::test]
async fn a_bare_host_serves_the_default_project() {
    let server = setup().start().await;

    let mut client = server.client().await;
    let body = client
        .get("/auth/v1/user?a=%2F", &[("host", "localhost:8080")])
        .await
        .json();

    assert_eq!(body["project"], DEFAULT);
    assert_eq!(body["uri"], "/user?a=%2F");
    assert_eq!(body["original"], "/auth/v1/user?a=%2F");
    assert_eq!(body["public_url"], "http://localhost:8080");
    assert_eq!(body["client"], "127.0.0.1");
    assert_eq!(body["id"], body["id_header"]);
}

/// Mails contain the public URL, so it must not come from an arbitrary `Host` header.
#[tokio::test]
async fn a_host_that_is_made_up_is_not_in_the_public_url() {
    let server = setup().start().await;

    let mut client = server.client().await;
    let own = client.get("/auth/v1/user", &[]).await.json();
    let body = client
        .get("/auth/v1/user", &[("host", "evil.test")])
        .await
        .json();

    assert_eq!(body["project"], DEFAULT);
    assert_eq!(body["public_url"], own["public_url"]);
    let url = body["public_url"].as_str().expect("a URL");
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
}

#[tokio::test]
async fn a_path_names_a_project_and_stays_in_its_public_url() {
    let server = setup().start().await;

    let mut client = server.client().await;
    let headers = [("host", "plinth.example")];
    let body = client
        .get("/p/platform/auth/v1/user", &headers)
        .await
        .json();

    assert_eq!(body["project"], PLATFORM);
    assert_eq!(body["uri"], "/user");
    assert_eq!(body["original"], "/p/platform/auth/v1/user");
    assert_eq!(body["public_url"], "http://plinth.example/p/platform");
}

#[tokio::test]
async fn a_host_of_its_own_reaches_the_project_and_no_instance_path() {
    let server = setup().start().await;
    let host = format!("{PLATFORM}.plinth.example");
    let headers = [("host", host.as_str())];
    let mut client = server.client().await;

    let body = client.get("/auth/v1", &headers).await.json();
    assert_eq!(body["project"], PLATFORM);
    assert_eq!(body["uri"], "/");
    assert_eq!(body["public_url"], format!("http://{host}"));

    for path in [
        "/",
        "/v1/projects",
        "/metrics",
        "/ready",
        "/p/default/auth/v1/user",
    ] {
        let response = client.get(path, &headers).await;
        assert_eq!(response.error(), (404, "not_found".to_owned()), "{path}");
    }
    assert_eq!(client.get("/health", &headers).await.json()["status"], "ok");
}

#[tokio::test]
async fn instance_paths_are_served_on_the_platform_host() {
    let server = setup().start().await;
    let mut client = server.client().await;

    assert_eq!(client.get("/", &[]).await.text(), "welcome");
    assert_eq!(client.get("/v1/projects", &[]).await.text(), "the platform");
    assert_eq!(
        client.get("/ready", &[]).await.json(),
        json!({ "status": "ready" })
    );
    let health = client.get("/health", &[]).await.json();
    assert_eq!(
        health,
        json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") })
    );
    for path in ["/nonsense", "/auth", "/p", "/v1/nonsense"] {
        assert_eq!(
            client.get(path, &[]).await.error(),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn an_instance_without_a_database_is_not_ready_but_alive() {
    let mut setup = setup();
    setup.readiness = Readiness::NotReady;
    let server = setup.start().await;

    let response = server.get("/ready").await;
    assert_eq!(response.error(), (503, "not_ready".to_owned()));
    assert_eq!(response.header("retry-after"), "5");
    assert_eq!(server.get("/health").await.status, 200);
}

#[tokio::test]
async fn an_instance_that_cannot_reach_the_others_stays_in_service_and_says_so() {
    let mut setup = setup();
    setup.readiness = Readiness::Degraded("the broker is away");
    let server = setup.start().await;

    let response = server.get("/ready").await;

    assert_eq!(response.status, 200);
    let expected = json!({ "status": "degraded", "reason": "the broker is away" });
    assert_eq!(response.json(), expected);
}

#[tokio::test]
async fn a_port_with_one_service_leaves_every_path_to_it() {
    let page = get(async || Html("<script>1</script>"));
    let router = Router::new().route("/page", page).fallback(mirror);
    let only = Mounts::only(Source::Storage, router);
    let mut setup = Setup::with_mounts(only);
    setup.config.domain = Some("plinth.example".to_owned());
    setup.config.public_url = Some("http://plinth.example/base".parse().expect("a URL"));
    let server = setup.start().await;

    let mut client = server.client().await;
    for path in [
        "/",
        "/health",
        "/ready",
        "/metrics",
        "/p/platform/a",
        "/base/a",
        "/v1/a",
    ] {
        let body = client.get(path, &[]).await.json();
        assert_eq!(body["project"], DEFAULT, "{path}");
        assert_eq!(body["uri"], path);
    }
    let host = format!("{PLATFORM}.plinth.example");
    let body = client.get("/a", &[("host", &host)]).await.json();
    assert_eq!(body["project"], PLATFORM);
    let page = client.get("/page", &[]).await;
    assert!(
        page.header("content-security-policy")
            .starts_with("sandbox")
    );
}

#[tokio::test]
async fn a_common_prefix_of_all_paths_is_taken_away() {
    let mut setup = setup();
    setup.config.public_url = url::Url::parse("https://api.example/base/").ok();
    let server = setup.start().await;
    let mut client = server.client().await;

    for path in ["/base/p/default/auth/v1/user", "/p/default/auth/v1/user"] {
        let body = client.get(path, &[]).await.json();
        assert_eq!(body["uri"], "/user");
        assert_eq!(body["public_url"], "https://api.example/base/p/default");
    }
    assert_eq!(client.get("/base/health", &[]).await.status, 200);
}

#[tokio::test]
async fn projects_that_cannot_be_served_say_why() {
    let server = setup().start().await;
    let mut client = server.client().await;
    let unknown = "a".repeat(20);
    let cases = [
        (PAUSED, 503, "project_paused", "60"),
        (COMING_UP, 503, "project_not_ready", "5"),
        (UNAVAILABLE, 503, "database_unavailable", "5"),
        (BROKEN, 500, "project_broken", ""),
        (unknown.as_str(), 404, "project_not_found", ""),
        ("nonsense", 404, "project_not_found", ""),
    ];
    for (name, status, code, retry_after) in cases {
        // One connection for all: an error is no reason to close it.
        let response = client.get(&format!("/p/{name}/auth/v1/user"), &[]).await;
        assert_eq!(response.error(), (status, code.to_owned()), "{name}");
        assert_eq!(response.header("retry-after"), retry_after, "{name}");
        assert!(!response.text().contains("seal"), "causes stay in the log");
    }
}

#[tokio::test]
async fn no_request_is_rejected_for_its_credential() {
    let server = setup().start().await;
    let mut client = server.client().await;
    let token = format!("Bearer {}", user_token());

    let anonymous = client.get("/auth/v1/user", &[]).await.json();
    assert_eq!(
        anonymous["rejection"],
        "no API key and no access token was sent"
    );

    let stranger = client
        .get("/auth/v1/user", &[("authorization", "Bearer x.y.z")])
        .await
        .json();
    assert!(stranger["role"].is_null() && stranger["rejection"].is_string());

    let user = client
        .get("/auth/v1/user", &[("authorization", &token)])
        .await
        .json();
    assert_eq!(user["role"], "authenticated");

    let path = format!("/auth/v1/user?apikey={}", secret_key());
    let key = client.get(&path, &[]).await.json();
    assert_eq!(
        (&key["role"], &key["has_key"]),
        (&json!("service_role"), &json!(true))
    );
}

#[tokio::test]
async fn forwarding_headers_count_only_from_a_trusted_proxy() {
    let headers = [
        ("host", "127.0.0.1:54321"),
        ("x-forwarded-for", "192.0.2.7"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "api.example"),
        ("x-request-id", "from-the-proxy"),
    ];

    let server = setup().start().await;
    let body = server
        .client()
        .await
        .get("/auth/v1/user", &headers)
        .await
        .json();
    assert_eq!(
        (&body["client"], &body["forwarded_for"]),
        (&json!("127.0.0.1"), &json!("127.0.0.1"))
    );
    assert_eq!(body["public_url"], "http://127.0.0.1:54321");
    assert_ne!(body["id"], "from-the-proxy");

    let server = setup().behind_proxy().start().await;
    let response = server.client().await.get("/auth/v1/user", &headers).await;
    let body = response.json();
    assert_eq!(
        (&body["client"], &body["forwarded_for"]),
        (&json!("192.0.2.7"), &json!("192.0.2.7"))
    );
    assert_eq!(body["public_url"], "https://api.example");
    assert_eq!(body["id"], "from-the-proxy");
    assert_eq!(response.header("x-request-id"), "from-the-proxy");
}

#[tokio::test]
async fn pages_of_users_are_shown_in_a_sandbox() {
    let server = setup().start().await;

    let page = server.get("/functions/v1/page").await;

    let policy = "sandbox allow-scripts allow-forms allow-popups";
    assert_eq!(page.header("content-security-policy"), policy);
    assert_eq!(
        server
            .get("/auth/v1/user")
            .await
            .header("content-security-policy"),
        ""
    );
}

#[tokio::test]
async fn each_request_leaves_one_record_without_secrets() {
    let mut server = setup().start().await;
    let token = format!("Bearer {}", user_token());
    let headers = [
        ("authorization", token.as_str()),
        ("user-agent", "tests/1"),
        ("host", "h.local"),
    ];

    let response = server
        .client()
        .await
        .get("/auth/v1/verify?token=abc&type=signup", &headers)
        .await;

    let record = server.next_record().await;
    assert_eq!((record.source, record.level), (Source::Api, Level::Info));
    assert_eq!(record.project, DEFAULT);
    assert_eq!(
        record.message,
        "GET /auth/v1/verify?token=***&type=signup 200"
    );
    assert_eq!(
        record.request_id.as_deref(),
        Some(response.header("x-request-id"))
    );
    let field = |name: &str| record.fields.get(name).cloned().unwrap_or_default();
    assert_eq!(field("method"), "GET");
    assert_eq!(field("path"), "/auth/v1/verify?token=***&type=signup");
    assert_eq!(field("status"), 200);
    assert_eq!(field("bytes"), response.body.len());
    assert!(
        field("duration_ms")
            .as_f64()
            .is_some_and(|duration| duration > 0.0)
    );
    assert_eq!(field("role"), "authenticated");
    assert_eq!(field("user.id"), "11111111-1111-1111-1111-111111111111");
    assert_eq!(field("client"), "127.0.0.1");
    assert_eq!(field("user_agent"), "tests/1");
    assert_eq!(field("host"), "h.local");
    assert_eq!(field("service"), "auth");
}

#[tokio::test]
async fn rejections_are_recorded_with_their_level_and_cause() {
    let mut server = setup().start().await;

    server.get("/nonsense").await;
    let record = server.next_record().await;
    assert_eq!(
        (record.level, record.project.as_str()),
        (Level::Warn, PLATFORM)
    );

    server.get(&format!("/p/{PAUSED}/auth/v1/user")).await;
    let record = server.next_record().await;
    assert_eq!(
        (record.level, record.project.as_str()),
        (Level::Error, PAUSED)
    );

    server.get(&format!("/p/{BROKEN}/auth/v1/user")).await;
    let record = server.next_record().await;
    assert_eq!(record.level, Level::Error);
    let cause = record.fields["error"].as_str().unwrap_or_default();
    assert!(cause.contains("the seal does not open"), "{cause}");
}

/// Pages that know two paths and leave everything else to the edge.
fn with_pages() -> Setup {
    let page = async |uri: Uri| match uri.path() {
        "/sign-in" | "/account" => "a page".into_response(),
        _ => {
            let mut response = StatusCode::NOT_FOUND.into_response();
            response.extensions_mut().insert(PathNotFound);
            response
        }
    };
    let mut setup = setup();
    let pages = Router::new().fallback(page);
    setup.mounts = setup
        .mounts
        .pages(Source::Api, pages, |path| path == "/sign-in");
    setup
}

#[tokio::test]
async fn pages_are_what_no_service_takes() {
    let server = with_pages().start().await;
    let check = async |path: &str, status: u16, text: &str| {
        let response = server.get(path).await;
        assert_eq!(response.status, status, "{path}");
        assert!(
            response.text().contains(text),
            "{path}: {}",
            response.text()
        );
    };

    check("/sign-in", 200, "a page").await;
    // On a host that names no project only what is surely a page is one.
    check("/account", 404, "not_found").await;
    check("/p/default/account", 200, "a page").await;
    check("/p/default/sign-in", 200, "a page").await;
    check("/p/default/nothing", 404, "not_found").await;
    check("/", 200, "welcome").await;
    check("/v1/projects", 200, "the platform").await;
    check("/auth/v1/user", 200, "\"uri\":\"/user\"").await;
}
