//! What all layers of one process share: refreshes in flight, tokens that are known to be genuine,
//! and when sign-ins began.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use lru::LruCache;
use plinth_token::credential_hash;

use crate::flight::Flights;
use crate::refresh::Refreshed;
use crate::seldom::Seldom;
use crate::server_check::Checked;
use crate::verify::KnownTokens;

/// How many refresh tokens are kept track of (A21).
const MAX_ENTRIES: NonZeroUsize = NonZeroUsize::new(10_000).expect("more than none");
/// How many refreshes may be under way at once (A27).
const MAX_CONCURRENT: usize = 64;
/// How long a call may take: the whole budget of a refresh, and some time for the lock of
/// [`RefreshCoordinator`](crate::RefreshCoordinator).
const LONGEST_CALL: Duration = Duration::from_secs(60);
/// How long a sign-in that began here may take (A37).
const MAX_FLOW_AGE_MS: i64 = 10 * 60 * 1000;

/// State that layers share. By default all layers of a process share one, so that a session is
/// refreshed once, however many layers it passes. Clones are the same.
#[derive(Clone)]
pub struct SessionRuntime(Arc<Parts>);

struct Parts {
    refreshes: Arc<Flights<Refreshed>>,
    checks: Arc<Flights<Checked>>,
    known: KnownTokens,
    flows: Mutex<LruCache<String, i64>>,
    conflicts: Seldom,
    refused_transports: Seldom,
}

impl Default for SessionRuntime {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionRuntime {
    /// A state of its own, for tests and for tenants that must not share.
    pub fn new() -> Self {
        Self(Arc::new(Parts {
            refreshes: Flights::new(MAX_ENTRIES, MAX_CONCURRENT, LONGEST_CALL),
            checks: Flights::new(MAX_ENTRIES, MAX_CONCURRENT, LONGEST_CALL),
            known: KnownTokens::new(),
            flows: Mutex::new(LruCache::sparse(MAX_ENTRIES)),
            conflicts: Seldom::new(),
            refused_transports: Seldom::new(),
        }))
    }

    /// The one of this process.
    pub fn of_process() -> Self {
        static SHARED: LazyLock<SessionRuntime> = LazyLock::new(SessionRuntime::new);
        SHARED.clone()
    }

    pub(crate) fn refreshes(&self) -> &Arc<Flights<Refreshed>> {
        &self.0.refreshes
    }

    pub(crate) fn checks(&self) -> &Arc<Flights<Checked>> {
        &self.0.checks
    }

    pub(crate) fn known_tokens(&self) -> &KnownTokens {
        &self.0.known
    }

    /// When cookies that contradict each other are worth a line in the log.
    pub(crate) fn conflicts(&self) -> &Seldom {
        &self.0.conflicts
    }

    /// When cookies that may not be written are worth a line in the log.
    pub(crate) fn refused_transports(&self) -> &Seldom {
        &self.0.refused_transports
    }

    /// Remembers when a sign-in began. Cookies cannot say it: their form is shared with others.
    pub(crate) fn note_flow(&self, verifier: &str, now_ms: i64) {
        self.flows().push(credential_hash(verifier), now_ms);
    }

    /// Whether a sign-in began here, and too long ago.
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
