//! Health, key set and common response headers.

use serde_json::json;

use crate::support::{Api, AuthCall, AuthReply, REQUEST_ID, Requests};

#[tokio::test]
async fn health_needs_no_key() {
    let api = Api::start(&[]).await;

    let reply = api.get("/health").without_key().await;

    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["name"], "GoTrue");
}

#[tokio::test]
async fn the_key_set_has_no_secret_and_is_cacheable_for_ten_minutes() {
    let api = Api::start(&[]).await;

    let reply = api.get("/.well-known/jwks.json").without_key().await;

    assert_eq!(reply.json(), json!({ "keys": [] }));
    assert_eq!(
        reply.header("cache-control"),
        Some("public, max-age=600"),
        "{reply:?}"
    );
}

#[tokio::test]
async fn errors_come_in_the_version_that_was_asked_for() {
    let api = Api::start(&[]).await;

    let dated = api.get("/nowhere").await;
    assert_eq!(
        dated.json(),
        json!({ "code": "unknown", "message": "Requested path is invalid" })
    );
    assert_eq!(dated.header("x-supabase-api-version"), Some("2024-01-01"));

    let old = api.get("/nowhere").old_version().await;
    assert_eq!(
        old.json(),
        json!({ "code": 404, "error_code": "unknown", "msg": "Requested path is invalid" })
    );
    assert_eq!(old.header("x-supabase-api-version"), None);
    assert_eq!(old.header("x-sb-error-code"), Some("unknown"));
}

/// So that a report can be matched with the log.
#[tokio::test]
async fn faults_of_ours_are_named_in_the_old_version() {
    let hook = "auth.hook.before_user_created";
    let (enabled, uri) = (format!("{hook}.enabled"), format!("{hook}.uri"));
    let unusable = [
        (enabled.as_str(), "true"),
        (uri.as_str(), "http://elsewhere.dev/"),
    ];
    let api = Api::start(&unusable).await;
    let sign_up = || {
        let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
        api.post("/signup", body)
    };

    let dated = sign_up().await;
    dated.expect_error(500, "unexpected_failure");
    assert_eq!(dated.json().get("error_id"), None);
    let old = sign_up().old_version().await;
    assert_eq!(
        old.json(),
        json!({
            "code": 500, "error_code": "unexpected_failure", "msg": dated.json()["message"],
            "error_id": REQUEST_ID,
        })
    );
    let theirs = api.get("/user").old_version().await;
    assert_eq!(theirs.status, 401);
    assert_eq!(theirs.json().get("error_id"), None);
}

/// CORS preflight requests.
#[tokio::test]
async fn preflights_need_no_key() {
    let api = Api::start(&[]).await;

    let reply = api
        .call(http::Method::OPTIONS, "/token?grant_type=password")
        .without_key()
        .header("origin", "https://app.test")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "x-own, content-type")
        .await;

    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.body.is_empty());
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    assert_eq!(
        reply.header("access-control-allow-methods"),
        Some("GET, POST, PUT, PATCH, DELETE")
    );
    let allowed = names(reply.header("access-control-allow-headers"));
    for name in [
        "accept",
        "authorization",
        "content-type",
        "apikey",
        "x-client-ip",
        "x-client-info",
        "x-jwt-aud",
        "x-use-cookie",
        "x-supabase-api-version",
        "x-own",
    ] {
        assert!(allowed.contains(&name.to_owned()), "{name}: {allowed:?}");
    }
}

#[tokio::test]
async fn pages_of_other_sites_may_read_responses_and_some_headers() {
    let api = Api::start(&[]).await;

    for path in ["/health", "/user", "/nowhere"] {
        let reply = api.get(path).header("origin", "https://app.test").await;
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        let exposed = names(reply.header("access-control-expose-headers"));
        for name in [
            "x-total-count",
            "link",
            "x-supabase-api-version",
            "x-sb-error-code",
            "retry-after",
        ] {
            assert!(exposed.contains(&name.to_owned()), "{path}: {exposed:?}");
        }
    }
}

fn names(header: Option<&str>) -> Vec<String> {
    let names = header.expect("a list").split(',').map(str::trim);
    names.map(str::to_lowercase).collect()
}
