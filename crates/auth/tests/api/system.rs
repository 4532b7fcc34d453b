//! Health, the key set, and what every answer has.

use serde_json::json;

use crate::support::Api;

#[tokio::test]
async fn health_needs_no_key() {
    let api = Api::start(&[]).await;

    let reply = api.get("/health").without_key().await;

    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["name"], "GoTrue");
}

#[tokio::test]
async fn the_key_set_holds_no_secret_and_may_be_kept_for_ten_minutes() {
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
