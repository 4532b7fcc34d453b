//! A server that hosts the auth service itself needs no requests over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use plinth_client::auth::{AuthError, KeySet, Scope};
use plinth_client::{BoxFuture, ManualClock, Session as StoredSession, User};
use plinth_session::{AuthBackend, SessionLayer, SessionRuntime};
use plinth_token::Algorithm;
use serde_json::json;

use crate::support::{Browser, NOW_MS, Tokens, USER, routes};

/// Responds from memory.
struct Own {
    tokens: Tokens,
    refreshes: AtomicUsize,
}

impl AuthBackend for Own {
    fn keys<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, KeySet> {
        let keys = json!({ "keys": [self.tokens.0.public_jwk()] });
        Box::pin(async move { KeySet::from_json(&keys.to_string()).unwrap() })
    }

    fn refresh<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<StoredSession, AuthError>> {
        self.refreshes.fetch_add(1, Ordering::SeqCst);
        assert_eq!(token, "first");
        let session = StoredSession::from_json(&self.tokens.session(3600, "next"));
        Box::pin(async move { Ok(session.unwrap()) })
    }

    fn user<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<User, AuthError>> {
        Box::pin(async { Err(AuthError::SessionMissing) })
    }

    fn exchange_code<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<StoredSession, AuthError>> {
        Box::pin(async { Err(AuthError::SessionMissing) })
    }

    fn verify_token_hash<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<StoredSession>, AuthError>> {
        Box::pin(async { Ok(None) })
    }

    fn sign_out<'a>(&'a self, _: &'a str, _: Scope) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_backend_of_ones_own_is_asked_instead_of_the_network() {
    let tokens = Tokens::new(Algorithm::Es256);
    let own = Arc::new(Own {
        tokens: tokens.clone(),
        refreshes: AtomicUsize::new(0),
    });
    let backend: Arc<dyn AuthBackend> = own.clone();
    // One project of many on this host, by its path.
    let layer = SessionLayer::builder("http://nowhere.invalid/p/abc", "anon")
        .cookie_name("sb-abc-auth-token")
        .issuer("http://auth.test/auth/v1")
        .public_url("https://app.test")
        .backend(backend)
        .clock(ManualClock::at(NOW_MS))
        .runtime(SessionRuntime::new())
        .build()
        .unwrap();
    let mut browser = Browser::new(routes().layer(layer));
    browser.set_item("sb-abc-auth-token", &tokens.session(-10, "first"));

    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(browser.get("/private").await.short(), (200, USER));

    assert_eq!(own.refreshes.load(Ordering::SeqCst), 1);
    assert!(
        browser
            .item("sb-abc-auth-token")
            .unwrap()
            .contains("\"next\"")
    );
}
