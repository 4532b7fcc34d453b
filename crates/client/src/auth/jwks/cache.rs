//! Caches a project's published keys and refetches them (client contract S46, S48, A16, A17, K6).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;

use super::KeySet;
use crate::auth::api::AuthApi;
use crate::runtime::{self, BoxFuture};

/// K6: lifetime of a fetched key set.
pub const KEY_SET_LIFETIME_MS: i64 = 600_000;
/// Minimum interval between fetches caused by an unknown key.
pub const REFETCH_INTERVAL_MS: i64 = 30_000;
/// How long keys are used when they cannot be refetched.
pub const STALE_LIFETIME_MS: i64 = 24 * 60 * 60 * 1000;
/// Timeout of a fetch.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The cached key set of one project. Share one among all clients of a process.
#[derive(Default)]
pub struct JwksCache(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    keys: KeySet,
    /// When `keys` was fetched.
    at_ms: Option<i64>,
    /// When the last fetch began.
    tried_ms: Option<i64>,
    failures: u64,
    fetching: Option<Fetching>,
}

/// A fetch in flight. It continues when its first caller is cancelled.
type Fetching = Shared<BoxFuture<'static, ()>>;

impl State {
    /// The keys, unless they are too old.
    fn alive(&self, now_ms: i64) -> KeySet {
        match self.at_ms {
            Some(at) if now_ms.saturating_sub(at) < STALE_LIFETIME_MS => self.keys.clone(),
            _ => KeySet::default(),
        }
    }

    /// Whether the caller should wait for a fetch.
    fn is_fetch_due(&self, now_ms: i64, kid: Option<&str>) -> bool {
        let is_since =
            |at: Option<i64>, limit: i64| at.is_some_and(|at| now_ms.saturating_sub(at) < limit);
        let is_known = kid.is_none_or(|kid| self.keys.has(kid));
        if is_known && is_since(self.at_ms, KEY_SET_LIFETIME_MS) {
            false
        } else {
            self.fetching.is_some() || !is_since(self.tried_ms, REFETCH_INTERVAL_MS)
        }
    }
}

impl JwksCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// A cache with these keys, as if they had just been fetched.
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

    /// The keys, refetched if they are older than ten minutes. Fetches are at least 30 s apart, and while they fail, keys
    /// of the last 24 hours are used.
    pub async fn keys(&self, api: &AuthApi) -> KeySet {
        self.keys_with(api, None).await
    }

    /// The same, also refetched if a key of this id is missing, at most once in 30 s.
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

    /// The fetch in flight, or a new one: concurrent callers share one request.
    fn fetch(&self, state: &mut State, api: &AuthApi) -> Fetching {
        if let Some(fetching) = &state.fetching {
            return fetching.clone();
        }
        state.tried_ms = Some(api.clock().now_ms());
        // Weak: an unfinished fetch must not keep its own cache alive.
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
