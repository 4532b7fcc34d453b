//! The cookies as a store for the SDK, and the vectors about sign-ins under way.

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use plinth_client::SessionStore as _;
use plinth_client::auth::{PendingFlows, RedirectType};
use plinth_session::{CookieStore, SessionLayer, SessionRuntime, SessionWriter};
use serde_json::Value;

use crate::support::{App, Browser, KEY, Upstream};

type Work = Arc<dyn Fn(CookieStore) -> plinth_client::BoxFuture<'static, ()> + Send + Sync>;

/// A browser whose POST to `/` does this with the store.
fn doing<F>(work: impl Fn(CookieStore) -> F + Send + Sync + 'static) -> Browser
where
    F: Future<Output = ()> + Send + 'static,
{
    let work: Work = Arc::new(move |store| Box::pin(work(store)));
    let handler = move |writer: SessionWriter| {
        let work = Arc::clone(&work);
        async move { work(writer.store()).await }
    };
    let layer = SessionLayer::builder("https://plinthref.example.com", "anon")
        .http(Upstream::new().http())
        .public_url("http://localhost:3000")
        .runtime(SessionRuntime::new())
        .build()
        .unwrap();
    Browser::new(Router::new().route("/", post(handler)).layer(layer))
}

fn vectors() -> Value {
    let vectors: Value = serde_json::from_str(include_str!("../cookie-vectors.json")).unwrap();
    vectors["pkce"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// All writes of a vector as headers.
fn headers(case: &Value) -> Vec<String> {
    let calls = case["set_all_calls"].as_array().unwrap().iter();
    let writes = calls.flat_map(|call| call["writes"].as_array().unwrap());
    let header = |write: &Value| {
        let (name, value) = (text(&write["name"]), text(&write["value"]));
        format!(
            "{name}={value}; Max-Age={}; Path=/; SameSite=Lax",
            write["max_age"]
        )
    };
    writes.map(header).collect()
}

#[tokio::test]
async fn beginning_a_sign_in_writes_what_the_reference_writes() {
    for (case, name) in [(0, "oauth_start"), (1, "recovery_start")] {
        let case = vectors()[case].clone();
        assert_eq!(text(&case["name"]), name);
        // The same texts, in the same order, as the SDK stores them.
        let items = case["cookies_after"].as_array().unwrap().clone();
        let mut browser = doing(move |store| {
            let items = items.clone();
            async move {
                for item in items {
                    let (key, json) = (text(&item["name"]), text(&item["item_json"]));
                    store.set(key, json.to_owned()).await.unwrap();
                }
            }
        });

        let reply = browser.post("/", "").await;

        assert_eq!(reply.set_cookies(), headers(&case), "{name}");
        assert!(reply.header("cache-control").unwrap().contains("no-store"));
    }
}

#[tokio::test]
async fn completing_a_sign_in_writes_what_the_reference_writes() {
    let case = vectors()[2].clone();
    assert_eq!(text(&case["name"]), "exchange_ok");
    let key = text(&case["storage_key"]).to_owned();
    let session = case["cookies_after"][0]["item_json"].clone();
    let mut browser = doing(move |store| {
        let (key, session) = (key.clone(), text(&session).to_owned());
        async move {
            let flows = PendingFlows::new(Arc::new(store.clone()), &key);
            let taken = flows
                .take(Some("23486d92b7dc01264b7095badf04294e"))
                .await
                .unwrap();
            assert_eq!(taken.verifier.len(), 112);
            assert_eq!(taken.redirect_type, RedirectType::SignIn);
            store.set(&key, session).await.unwrap();
        }
    });
    for cookie in case["request_cookies"].as_array().unwrap() {
        browser.set(text(&cookie["name"]), text(&cookie["value"]));
    }

    let reply = browser.post("/", "").await;

    assert_eq!(reply.set_cookies(), headers(&case));
    assert_eq!(browser.cookie_names(), [text(&case["storage_key"])]);
}

#[tokio::test]
async fn the_store_reads_its_own_writes() {
    let key = "sb-plinthref-auth-token";
    let mut browser = doing(move |store| async move {
        assert_eq!(store.storage_key(), key);
        assert_eq!(store.get(key).await.unwrap().as_deref(), Some("{\"a\":1}"));
        store.set(key, "{\"b\":2}".to_owned()).await.unwrap();
        assert_eq!(store.get(key).await.unwrap().as_deref(), Some("{\"b\":2}"));
        store.remove(key).await.unwrap();
        assert_eq!(store.get(key).await.unwrap(), None);
        store
            .set("sb-plinthref-auth-token-user", "{}".to_owned())
            .await
            .unwrap();
        assert!(store.set("theme", "dark".to_owned()).await.is_err());
        assert!(store.get("theme").await.is_err());
    });
    browser.set_item(key, "{\"a\":1}");
    browser.set("theme", "light");

    let reply = browser.post("/", "").await;

    assert_eq!(reply.status.as_u16(), 200);
    assert_eq!(
        browser.cookie_names(),
        ["theme", "sb-plinthref-auth-token-user"]
    );
}

#[tokio::test]
async fn at_most_five_sign_ins_are_under_way() {
    let app = App::new();
    let mut browser = app.browser();
    for _ in 0..7 {
        browser.post("/begin", "").await;
    }

    assert_eq!(browser.cookie_names().len(), 5 + 2);
    assert!(
        browser
            .item(&format!("{KEY}-flows-code-verifier"))
            .unwrap()
            .matches('"')
            .count()
            == 10
    );
}
