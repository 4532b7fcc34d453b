//! Keeps a project's published keys, and fetches them when they are needed or have grown old
//! (client contract S46, S48, A16, A17, K6).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;

use super::KeySet;
use crate::auth::api::AuthApi;
use crate::runtime::{self, BoxFuture};

/// K6: how long a fetched key set is good for.
pub const KEY_SET_LIFETIME_MS: i64 = 600_000;
/// At most one fetch in this time because of a key that is not in the set.
pub const REFETCH_INTERVAL_MS: i64 = 30_000;
/// How long keys go on being used when they cannot be fetched again.
pub const STALE_LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;
/// How long a fetch may take.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Keeps the key set of one project. Share one among all clients of a process.
#[derive(Default)]
pub struct JwksCache(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    keys: KeySet,
    /// When `keys` came.
    at_ms: Option<i64>,
    /// When a fetch was last begun.
    tried_ms: Option<i64>,
    failures: u64,
    fetching: Option<Fetching>,
}

/// A fetch that is under way. It goes on when whoever began it leaves.
type Fetching = Shared<BoxFuture<'static, ()>>;

impl State {
    /// The keys, unless they are too old to be believed.
    fn alive(&self, now_ms: i64) -> KeySet {
        match self.at_ms {
            Some(at) if now_ms.saturating_sub(at) < STALE_LIFETIME_MS => self.keys.clone(),
            _ => KeySet::default(),
        }
    }

    /// Whether whoever asks for a key should wait for a fetch.
    fn is_fetch_due(&self, now_ms: i64, kid: Option<&str>) -> bool {
        let is_since =
            |at: Option<i64>, limit: i64| at.is_some_and(|at| now_ms.saturating_sub(at) < limit);
        let is_known = kid.is_none_or(|kid| self.keys.has(kid));
        match is_known && is_since(self.at_ms, KEY_SET_LIFETIME_MS) {
            true => false,
            false => self.fetching.is_some() || !is_since(self.tried_ms, REFETCH_INTERVAL_MS),
        }
    }
}

impl JwksCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// A cache that begins with these keys, as if they had just been fetched.
    pub fn with_keys(keys: KeySet, now_ms: i64) -> Self {
        Self(Arc::new(Mutex::new(State {
            keys,
            at_ms: Some(now_ms),
            ..State::default()
        })))
    }

    /// How old the keys are, in milliseconds.
    pub fn age_ms(&self, now_ms: i64) -> Option<i64> {
        self.state().at_ms.map(|at| now_ms.saturating_sub(at))
    }

    /// How many fetches have failed.
    pub fn failures(&self) -> u64 {
        self.state().failures
    }

    /// The keys, fetched if those that are there are older than ten minutes. That is tried at most
    /// once in 30 s, and while it fails, keys of the last 24 hours are used.
    pub async fn keys(&self, api: &AuthApi) -> KeySet {
        self.keys_with(api, None).await
    }

    /// The same, fetched also when a key of this id is missing, at most once in 30 s.
    pub async fn keys_for(&self, api: &AuthApi, kid: &str) -> KeySet {
        self.keys_with(api, Some(kid)).await
    }

    async fn keys_with(&self, api: &AuthApi, kid: Option<&str>) -> KeySet {
        let fetching = {
            let mut state = self.state();
            let now_ms = api.clock().now_ms();
            if !state.is_fetch_due(now_ms, kid) {
                return state.alive(now_ms);
            }
            self.fetch(&mut state, api)
        };
        fetching.await;
        self.state().alive(api.clock().now_ms())
    }

    /// The fetch that is under way, or a new one: many who miss a key make one request.
    fn fetch(&self, state: &mut State, api: &AuthApi) -> Fetching {
        if let Some(fetching) = &state.fetching {
            return fetching.clone();
        }
        state.tried_ms = Some(api.clock().now_ms());
        // Weak: a fetch that nobody takes to its end must not keep its own cache alive.
        let work: BoxFuture<'static, ()> =
            Box::pin(fetch_into(Arc::downgrade(&self.0), api.clone()));
        let fetching = work.shared();
        state.fetching = Some(fetching.clone());
        runtime::finish(fetching.clone());
        fetching
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

async fn fetch_into(state: Weak<Mutex<State>>, api: AuthApi) {
    let fetched = api.jwks().await;
    let Some(state) = state.upgrade() else {
        return;
    };
    let mut state = lock(&state);
    state.fetching = None;
    match fetched {
        Ok(keys) => {
            state.keys = keys;
            state.at_ms = Some(api.clock().now_ms());
        }
        Err(error) => {
            state.failures += 1;
            tracing::warn!(error = error.for_logs(), "the key set cannot be fetched");
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for JwksCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        formatter
            .debug_struct("JwksCache")
            .field("keys", &state.keys.len())
            .field("at_ms", &state.at_ms)
            .finish_non_exhaustive()
    }
}
