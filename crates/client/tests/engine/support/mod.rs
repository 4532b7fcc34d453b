//! A scripted server, and clients of it with a manual clock.

mod server;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::StreamExt;
use plinth_client::auth::{AuthEvent, AuthEvents};
use plinth_client::{Client, ClientBuilder, ManualClock, MemoryStore, Session, SessionStore};
use serde_json::{Value, json};

pub(crate) use server::{Recorded, Reply, Server};

/// When every test begins.
pub(crate) const NOW_S: i64 = 1_700_000_000;
pub(crate) const KEY: &str = "sb-abc-auth-token";

/// A server, a clock, a store and what a client is made of.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) clock: ManualClock,
    pub(crate) store: MemoryStore,
}

impl Bench {
    /// Time stands still until it is moved.
    pub(crate) fn new() -> Self {
        Self::with_clock(ManualClock::at(NOW_S * 1000))
    }

    /// Waiting takes no time.
    pub(crate) fn auto_advancing() -> Self {
        Self::with_clock(ManualClock::auto_advancing(NOW_S * 1000))
    }

    fn with_clock(clock: ManualClock) -> Self {
        Self {
            server: Server::new(clock.clone()),
            clock,
            store: MemoryStore::new(),
        }
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder("https://abc.example.co", "anon-key")
            .http_service(self.server.clone())
            .clock(self.clock.clone())
            .session_store(self.store.clone())
    }

    /// A client that refreshes only when it is used.
    pub(crate) fn client(&self) -> Client {
        self.builder()
            .auto_refresh(false)
            .build()
            .expect("a client")
    }

    /// A client that looks after its session.
    pub(crate) fn ticking_client(&self) -> Client {
        self.builder().build().expect("a client")
    }

    /// Stores a session that ends in this many seconds.
    pub(crate) async fn store_session(&self, expires_in: i64) -> Session {
        let session = session("stored", NOW_S + expires_in);
        self.store
            .set(KEY, session.to_json())
            .await
            .expect("a store in memory");
        session
    }

    pub(crate) async fn stored(&self) -> Option<String> {
        self.store.get(KEY).await.expect("a store in memory")
    }

    pub(crate) async fn stored_session(&self) -> Option<Session> {
        Some(Session::from_json(&self.stored().await?).expect("a session"))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

/// A session whose tokens carry this name.
pub(crate) fn session(name: &str, expires_at: i64) -> Session {
    Session::from_json(&token_response(name, expires_at).to_string()).expect("a session")
}

/// The response of the token endpoint.
pub(crate) fn token_response(name: &str, expires_at: i64) -> Value {
    json!({
        "access_token": jwt(json!({ "sub": "u", "name": name, "exp": expires_at, "aal": "aal1" })),
        "refresh_token": format!("refresh-{name}"),
        "expires_in": 3600,
        "expires_at": expires_at,
        "token_type": "bearer",
        "user": { "id": "u", "email": "ada@example.com" },
    })
}

/// A token that cannot be verified without the secret.
pub(crate) fn jwt(claims: Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!(
        "{}.{}.c2ln",
        part(&json!({ "alg": "HS256" })),
        part(&claims)
    )
}

pub(crate) fn rejected(status: u16, code: &str) -> Reply {
    Reply::json(status, json!({ "code": code, "message": code }))
        .header("x-supabase-api-version", "2024-01-01")
}

/// Lets spawned tasks run until nothing is left to do but wait.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// The names of the events that are there now.
pub(crate) async fn received_events(events: &mut AuthEvents) -> Vec<&'static str> {
    let notices = all_received_events(events).await;
    notices.iter().map(|(event, _)| event.name()).collect()
}

/// The events that are there now.
pub(crate) async fn all_received_events(
    events: &mut AuthEvents,
) -> Vec<(AuthEvent, Option<Session>)> {
    let mut received_events = Vec::new();
    for _ in 0..50 {
        match futures_util::poll!(events.next()) {
            std::task::Poll::Ready(Some(notice)) => received_events.push(notice),
            std::task::Poll::Ready(None) => break,
            std::task::Poll::Pending => tokio::task::yield_now().await,
        }
    }
    received_events
}
