//! Which requests need an API key, and what they get without a valid one.

mod support;

use axum::Router;
use axum::body::Body;
use http::{Method, Uri};
use plinth_gateway::{Mount, Mounts};
use plinth_log::Source;
use serde_json::{Value, json};
use support::{Setup, TestResponse, secret_key, user_token};

fn missing() -> Value {
    json!({
        "message": "No API key found in request",
        "hint": "No `apikey` request header or url param was found.",
    })
}

fn invalid() -> Value {
    json!({
        "message": "Invalid API key",
        "hint": "Double check your Supabase `anon` or `service_role` API key.",
    })
}

/// `/rest/v1` with filters in its query, `/storage/v1` with its own check of tokens, and
/// `/functions/v1`, which asks for nothing.
fn setup() -> Setup {
    let router = || Router::new().fallback(async |uri: Uri| uri.to_string());
    let is_open = |method: &Method, path: &str| method == Method::GET && path == "/open";
    let rest = Mount::new("/rest/v1", Source::Rest, router())
        .requires_api_key(is_open)
        .with_filters_in_query();
    let storage = Mount::new("/storage/v1", Source::Storage, router())
        .requires_api_key(is_open)
        .with_own_token_check();
    let functions = Mount::new("/functions/v1", Source::Functions, router());
    let mounts = Mounts::new(Router::new(), Router::new())
        .service(rest)
        .service(storage)
        .service(functions);
    Setup::with_mounts(mounts)
}

#[track_caller]
fn expect_rejected(response: &TestResponse, body: Value, code: &str) {
    assert_eq!((response.status.as_u16(), response.json()), (401, body));
    assert_eq!(response.header("x-sb-error-code"), code);
    assert_eq!(response.header("access-control-allow-origin"), "*");
    assert_eq!(response.header("cache-control"), "no-store");
}

#[tokio::test]
async fn without_a_key_the_hosted_text_is_returned() {
    let server = setup().start().await;
    let mut client = server.client().await;

    for path in [
        "/rest/v1/films",
        "/rest/v1/",
        "/rest/v1",
        "/storage/v1/bucket",
    ] {
        let response = client.get(path, &[]).await;
        expect_rejected(&response, missing(), "api_key_missing");
    }
    for header in [
        ("apikey", ""),
        ("authorization", "Basic dTpw"),
        ("authorization", "Bearer"),
        ("authorization", "Bearer a.b.c"),
    ] {
        let response = client.get("/rest/v1/films", &[header]).await;
        expect_rejected(&response, missing(), "api_key_missing");
    }
    let response = client
        .send(Method::POST, "/rest/v1/open", &[], Body::empty())
        .await;
    expect_rejected(&response, missing(), "api_key_missing");
}

#[tokio::test]
async fn a_wrong_key_has_one_wording_in_all_services() {
    let server = setup().start().await;
    let mut client = server.client().await;
    let token = format!("Bearer {}", user_token());

    for path in ["/rest/v1/films", "/storage/v1/bucket"] {
        for headers in [
            &[("apikey", "sb_publishable_revoked")][..],
            &[("authorization", "Bearer sb_publishable_revoked")],
            &[("apikey", "sb_secret_x"), ("authorization", &token)],
            &[
                ("apikey", secret_key()),
                ("authorization", "Bearer sb_publishable_revoked"),
            ],
        ] {
            let response = client.get(path, headers).await;
            expect_rejected(&response, invalid(), "api_key_invalid");
        }
        let response = client.get(&format!("{path}?apikey=sb_x"), &[]).await;
        expect_rejected(&response, invalid(), "api_key_invalid");
        let response = client.get(path, &[("apikey", "a.b.c")]).await;
        expect_rejected(&response, invalid(), "api_key_invalid");
    }
}

#[tokio::test]
async fn a_key_or_a_valid_token_opens_a_service() {
    let server = setup().start().await;
    let mut client = server.client().await;
    let token = format!("Bearer {}", user_token());

    for headers in [
        &[("apikey", secret_key())][..],
        &[("authorization", &token)],
        &[("apikey", secret_key()), ("authorization", "Bearer a.b.c")],
    ] {
        for path in ["/rest/v1/films", "/storage/v1/bucket"] {
            assert_eq!(client.get(path, headers).await.status, 200, "{headers:?}");
        }
    }
    let path = format!("/rest/v1/films?a=%2F&apikey={}&b", secret_key());
    assert_eq!(client.get(&path, &[]).await.text(), "/films?a=%2F&b");
    let key = [("apikey", secret_key())];
    let filtered = client.get("/rest/v1/films?apikey=eq.x", &key).await;
    assert_eq!(filtered.text(), "/films?apikey=eq.x");
}

#[tokio::test]
async fn open_routes_preflights_and_functions_need_no_key() {
    let server = setup().start().await;
    let mut client = server.client().await;

    for path in ["/rest/v1/open", "/storage/v1/open", "/functions/v1/hello"] {
        for headers in [&[][..], &[("apikey", "sb_publishable_revoked")]] {
            assert_eq!(client.get(path, headers).await.status, 200, "{path}");
        }
    }
    let preflight = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "GET"),
    ];
    let response = client
        .send(Method::OPTIONS, "/rest/v1/films", &preflight, Body::empty())
        .await;
    assert_eq!(response.status, 200);
}

/// Some accept bearer tokens that the edge does not: without a scheme, in another header, with other hashes.
#[tokio::test]
async fn a_service_with_its_own_check_gets_every_bearer_token() {
    let server = setup().start().await;
    let mut client = server.client().await;

    for header in [
        ("authorization", "a.b.c"),
        ("authorization", "Bearer a.b.c"),
        ("x-api-key", "a.b.c"),
    ] {
        let response = client.get("/storage/v1/bucket", &[header]).await;
        assert_eq!(response.status, 200, "{header:?}");
    }
    // API keys are no tokens: the edge knows all of them.
    for name in ["authorization", "x-api-key"] {
        for wrong in ["sb_publishable_revoked", " sb_secret_x y"] {
            let response = client.get("/storage/v1/bucket", &[(name, wrong)]).await;
            expect_rejected(&response, invalid(), "api_key_invalid");
            let beside = [(name, wrong), ("apikey", secret_key())];
            for path in ["/storage/v1/bucket", "/rest/v1/films"] {
                let response = client.get(path, &beside).await;
                expect_rejected(&response, invalid(), "api_key_invalid");
            }
        }
        let right = [(name, secret_key())];
        let response = client.get("/storage/v1/bucket", &right).await;
        assert_eq!(response.status, 200, "{name}");
        // REST does not read them there.
        let response = client.get("/rest/v1/films", &right).await;
        expect_rejected(&response, missing(), "api_key_missing");
    }
}
