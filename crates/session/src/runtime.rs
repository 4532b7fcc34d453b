//! State shared by all layers of a process: refreshes in flight, cached verified tokens, and start times of
//! sign-in flows.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use plinth_token::credential_hash;

use crate::log_throttle::LogThrottle;
use crate::refresh::Refreshed;
use crate::server_check::ServerCheck;
use crate::single_flight::SingleFlight;
use crate::verify::TokenCache;

/// Maximum number of tracked refresh tokens (A21).
const MAX_ENTRIES: NonZeroUsize = NonZeroUsize::new(10_000).expect("more than none");
/// Maximum number of concurrent refreshes (A27).
const MAX_CONCURRENT: usize = 64;
/// Timeout of a call: the whole budget of a refresh, and some time for the lock of
/// [`RefreshCoordinator`](crate::RefreshCoordinator).
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum age of a sign-in flow that began here (A37).
const MAX_FLOW_AGE_MS: i64 = 10 * 60 * 1000;

/// State shared by layers. By default all layers of a process share one, so that a session is refreshed
/// once, however many layers it passes. Clones share the state.
#[derive(Clone)]
pub struct SessionRuntime(Arc<Parts>);

struct Parts {
    refreshes: Arc<SingleFlight<Refreshed>>,
    checks: Arc<SingleFlight<ServerCheck>>,
    token_cache: TokenCache,
    flows: Mutex<LruCache<String, i64>>,
    conflicts: LogThrottle,
    insecure_transports: LogThrottle,
}

impl Default for SessionRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionRuntime {
    /// Separate state, for tests and for applications that must not share.
    pub fn new() -> Self {
        Self(Arc::new(Parts {
            refreshes: SingleFlight::new(MAX_ENTRIES, MAX_CONCURRENT, CALL_TIMEOUT),
            checks: SingleFlight::new(MAX_ENTRIES, MAX_CONCURRENT, CALL_TIMEOUT),
            token_cache: TokenCache::new(),
            flows: Mutex::new(LruCache::sparse(MAX_ENTRIES)),
            conflicts: LogThrottle::new(),
            insecure_transports: LogThrottle::new(),
        }))
    }

    /// The state of this process.
    pub fn of_process() -> Self {
        static SHARED: LazyLock<SessionRuntime> = LazyLock::new(SessionRuntime::new);
        SHARED.clone()
    }

    pub(crate) fn refreshes(&self) -> &Arc<SingleFlight<Refreshed>> {
        &self.0.refreshes
    }

    pub(crate) fn checks(&self) -> &Arc<SingleFlight<ServerCheck>> {
        &self.0.checks
    }

    pub(crate) fn token_cache(&self) -> &TokenCache {
        &self.0.token_cache
    }

    /// Throttles the log line about conflicting cookies.
    pub(crate) fn conflicts(&self) -> &LogThrottle {
        &self.0.conflicts
    }

    /// Throttles the log line about cookies on an insecure transport.
    pub(crate) fn insecure_transports(&self) -> &LogThrottle {
        &self.0.insecure_transports
    }

    /// Records when a sign-in flow began. Cookies cannot hold it: their format is shared with other clients.
    pub(crate) fn record_flow_start(&self, verifier: &str, now_ms: i64) {
        self.flows().push(credential_hash(verifier), now_ms);
    }

    /// Whether a sign-in flow began here, and too long ago.
    pub(crate) fn is_flow_too_old(&self, verifier: &str, now_ms: i64) -> bool {
        let begun = self.flows().peek(&credential_hash(verifier)).copied();
        begun.is_some_and(|begun| now_ms.saturating_sub(begun) > MAX_FLOW_AGE_MS)
    }

    fn flows(&self) -> std::sync::MutexGuard<'_, LruCache<String, i64>> {
        self.0.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for SessionRuntime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionRuntime")
            .field("refreshes", &self.0.refreshes.len())
            .finish_non_exhaustive()
    }
}
