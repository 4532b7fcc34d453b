//! A scripted auth service that counts requests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use plinth_client::Http;
use plinth_token::Algorithm;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::Tokens;

type Answer = Arc<dyn Fn(usize) -> Response + Send + Sync>;

/// The scripted service. Clones are the same.
#[derive(Clone)]
pub(crate) struct Upstream(Arc<Parts>);

struct Parts {
    signer: Mutex<Tokens>,
    published: Mutex<Vec<Value>>,
    /// Whether the response for the key set is an error.
    keys_fail: AtomicBool,
    refresh: Mutex<Answer>,
    user: Mutex<Answer>,
    verify: Mutex<Answer>,
    logout: Mutex<Answer>,
    refreshes: AtomicUsize,
    users: AtomicUsize,
    key_fetches: AtomicUsize,
    logouts: AtomicUsize,
    seen: Mutex<Vec<Value>>,
    /// Refreshes get a response only while there are permits.
    gate: Semaphore,
}

/// A response with a status and an error code, or a session.
pub(crate) mod on_refresh {
    use super::*;

    pub(crate) fn error(status: u16, code: &str) -> impl Fn(usize) -> Response + use<> {
        let (status, body) = (
            StatusCode::from_u16(status).unwrap(),
            json!({ "code": code, "message": code }),
        );
        move |_| {
            let version = [("x-supabase-api-version", "2024-01-01")];
            (status, version, Json(body.clone())).into_response()
        }
    }

    pub(crate) fn json(text: String) -> impl Fn(usize) -> Response {
        move |_| ([("content-type", "application/json")], text.clone()).into_response()
    }
}

impl Upstream {
    /// Signs with a published key, rejects refreshes and knows every user.
    pub(crate) fn new() -> Self {
        Self::signing(Algorithm::Es256)
    }

    pub(crate) fn signing(algorithm: Algorithm) -> Self {
        let tokens = Tokens::new(algorithm);
        let published = tokens.0.public_jwk().cloned().into_iter().collect();
        let user = json!({ "id": super::USER, "email": "ann@mail.dev" }).to_string();
        Self(Arc::new(Parts {
            signer: Mutex::new(tokens),
            published: Mutex::new(published),
            keys_fail: AtomicBool::new(false),
            refresh: Mutex::new(Arc::new(on_refresh::error(400, "refresh_token_not_found"))),
            user: Mutex::new(Arc::new(on_refresh::json(user))),
            verify: Mutex::new(Arc::new(on_refresh::error(403, "otp_expired"))),
            logout: Mutex::new(Arc::new(|_| StatusCode::NO_CONTENT.into_response())),
            refreshes: AtomicUsize::new(0),
            users: AtomicUsize::new(0),
            key_fetches: AtomicUsize::new(0),
            logouts: AtomicUsize::new(0),
            seen: Mutex::default(),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
        }))
    }

    pub(crate) fn tokens(&self) -> Tokens {
        self.0.signer.lock().unwrap().clone()
    }

    /// Signs with a new key from now on, published or not.
    pub(crate) fn rotate(&self, is_published: bool) {
        let tokens = Tokens::new(Algorithm::Es256);
        if is_published {
            let key = tokens.0.public_jwk().cloned().unwrap();
            self.0.published.lock().unwrap().push(key);
        }
        *self.0.signer.lock().unwrap() = tokens;
    }

    /// Publishes nothing any more.
    pub(crate) fn unpublish(&self) {
        self.0.published.lock().unwrap().clear();
    }

    /// Lets the key set be out of reach.
    pub(crate) fn hide_keys(&self) {
        self.0.keys_fail.store(true, Ordering::SeqCst);
    }

    pub(crate) fn show_keys(&self) {
        self.0.keys_fail.store(false, Ordering::SeqCst);
    }

    /// The response to refreshes, given their number from 1.
    pub(crate) fn refreshing(&self, reply: impl Fn(usize) -> Response + Send + Sync + 'static) {
        *self.0.refresh.lock().unwrap() = Arc::new(reply);
    }

    /// Refreshes give sessions of so many seconds, with refresh tokens `next-1`, `next-2`, ….
    pub(crate) fn refreshing_for(&self, seconds: i64) {
        let upstream = self.clone();
        self.refreshing(move |number| {
            let session = upstream
                .tokens()
                .session(seconds, &format!("next-{number}"));
            on_refresh::json(session)(number)
        });
    }

    pub(crate) fn knowing_users(&self, reply: impl Fn(usize) -> Response + Send + Sync + 'static) {
        *self.0.user.lock().unwrap() = Arc::new(reply);
    }

    pub(crate) fn verifying(&self, reply: impl Fn(usize) -> Response + Send + Sync + 'static) {
        *self.0.verify.lock().unwrap() = Arc::new(reply);
    }

    pub(crate) fn signing_out(&self, reply: impl Fn(usize) -> Response + Send + Sync + 'static) {
        *self.0.logout.lock().unwrap() = Arc::new(reply);
    }

    /// Lets refreshes wait until [`open`](Self::open).
    pub(crate) fn close(&self) {
        self.0.gate.forget_permits(Semaphore::MAX_PERMITS);
    }

    pub(crate) fn open(&self) {
        self.0.gate.add_permits(1000);
    }

    pub(crate) fn refreshes(&self) -> usize {
        self.0.refreshes.load(Ordering::SeqCst)
    }

    pub(crate) fn users(&self) -> usize {
        self.0.users.load(Ordering::SeqCst)
    }

    pub(crate) fn key_fetches(&self) -> usize {
        self.0.key_fetches.load(Ordering::SeqCst)
    }

    pub(crate) fn logouts(&self) -> usize {
        self.0.logouts.load(Ordering::SeqCst)
    }

    /// Bodies of token and verification requests.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.0.seen.lock().unwrap().clone()
    }

    /// The way to it, without a socket.
    pub(crate) fn http(&self) -> Http {
        let routes = Router::new()
            .route("/auth/v1/token", post(token))
            .route("/auth/v1/verify", post(verify))
            .route("/auth/v1/user", get(user))
            .route("/auth/v1/logout", post(logout))
            .route("/auth/v1/.well-known/jwks.json", get(keys))
            .route("/rest/v1/rows", get(rows))
            .with_state(self.clone());
        Http::with_service(routes)
    }
}

#[derive(serde::Deserialize)]
struct Grant {
    grant_type: String,
}

async fn token(
    State(upstream): State<Upstream>,
    Query(grant): Query<Grant>,
    Json(body): Json<Value>,
) -> Response {
    let parts = &upstream.0;
    parts.seen.lock().unwrap().push(body);
    if grant.grant_type == "pkce" {
        let reply = Arc::clone(&*parts.verify.lock().unwrap());
        return reply(0);
    }
    assert_eq!(grant.grant_type, "refresh_token");
    let number = parts.refreshes.fetch_add(1, Ordering::SeqCst) + 1;
    let _permit = parts.gate.acquire().await.unwrap();
    // Gives concurrent requests the chance to arrive.
    tokio::task::yield_now().await;
    let reply = Arc::clone(&*parts.refresh.lock().unwrap());
    reply(number)
}

async fn verify(State(upstream): State<Upstream>, Json(body): Json<Value>) -> Response {
    upstream.0.seen.lock().unwrap().push(body);
    let reply = Arc::clone(&*upstream.0.verify.lock().unwrap());
    reply(0)
}

async fn user(State(upstream): State<Upstream>, _: HeaderMap) -> Response {
    let number = upstream.0.users.fetch_add(1, Ordering::SeqCst) + 1;
    let reply = Arc::clone(&*upstream.0.user.lock().unwrap());
    reply(number)
}

async fn logout(State(upstream): State<Upstream>) -> Response {
    let number = upstream.0.logouts.fetch_add(1, Ordering::SeqCst) + 1;
    let reply = Arc::clone(&*upstream.0.logout.lock().unwrap());
    reply(number)
}

async fn keys(State(upstream): State<Upstream>) -> Response {
    upstream.0.key_fetches.fetch_add(1, Ordering::SeqCst);
    if upstream.0.keys_fail.load(Ordering::SeqCst) {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let keys = upstream.0.published.lock().unwrap().clone();
    Json(json!({ "keys": keys })).into_response()
}

/// A table whose only row is the token it was asked with.
async fn rows(headers: HeaderMap) -> Json<Value> {
    let token = headers
        .get("authorization")
        .map(|value| value.to_str().unwrap());
    Json(json!([{ "authorization": token }]))
}
