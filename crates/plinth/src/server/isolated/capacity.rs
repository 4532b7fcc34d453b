//! How many servers of isolated projects run at once. When that many do, the start of another one
//! stops a server without a lease, or closes a project without requests; if there is none it waits
//! for a while, and fails.

use std::{
    pin::pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use plinth_db::DbError;
use plinth_project::{ProjectRef, Registry};
use tokio::{
    sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use super::{Inner, State};

/// How long a start waits for a permit.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);
/// A project with a request within this time is not closed for another one.
const MIN_PROJECT_IDLE: Duration = Duration::from_secs(5);
/// How often a waiting start looks for a server to stop.
const EVICTION_INTERVAL: Duration = Duration::from_millis(200);
/// How long the requests and streams of a closed project may take to end before another is closed:
/// one is enough.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// After a timeout other starts do not wait for this long: the requests to one project start its
/// server one after the other, and each would wait.
const NO_WAIT_AFTER_TIMEOUT: Duration = Duration::from_secs(1);

/// Permits to run a server.
pub(super) struct Capacity {
    max_running: usize,
    permits: Arc<Semaphore>,
    registry: OnceLock<Registry>,
    last_timeout: Mutex<Option<Instant>>,
}

impl Capacity {
    pub(super) fn new(max_running: usize) -> Self {
        let permits = max_running.min(Semaphore::MAX_PERMITS);
        Self {
            max_running,
            permits: Arc::new(Semaphore::new(permits)),
            registry: OnceLock::new(),
            last_timeout: Mutex::default(),
        }
    }

    /// False if there is one already.
    pub(super) fn attach_registry(&self, registry: Registry) -> bool {
        self.registry.set(registry).is_ok()
    }

    fn close_idle_project(&self) -> bool {
        let registry = self.registry.get();
        registry.is_some_and(|registry| registry.close_least_recently_used(MIN_PROJECT_IDLE))
    }

    fn wait_timeout(&self) -> Duration {
        let last = self.last_timeout.lock();
        let last = *last.unwrap_or_else(PoisonError::into_inner);
        match last {
            Some(last) if last.elapsed() < NO_WAIT_AFTER_TIMEOUT => Duration::ZERO,
            _ => WAIT_TIMEOUT,
        }
    }

    fn record_timeout(&self, waited: Duration) {
        if waited.is_zero() {
            return;
        }
        tracing::warn!(
            max_running = self.max_running,
            "too many isolated projects are awake: a request to another one failed; \
             plinth.isolation.max_running allows more"
        );
        let last = self.last_timeout.lock();
        *last.unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Inner {
    /// Waits for a permit to run another server.
    pub(super) async fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, DbError> {
        let permits = self.capacity.permits.clone();
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let timeout = self.capacity.wait_timeout();
        let deadline = Instant::now() + timeout;
        let mut acquiring = pin!(permits.acquire_owned());
        // Not cancelled at shutdown: dropping a stop would not wait for PostgreSQL.
        let mut closed_at: Option<Instant> = None;
        while !self.closed.is_cancelled() {
            let may_close = closed_at.is_none_or(|at| at.elapsed() >= CLOSE_GRACE);
            if !self.stop_longest_idle().await && may_close && self.capacity.close_idle_project() {
                closed_at = Some(Instant::now());
                self.stop_longest_idle().await;
            }
            let next = deadline.min(Instant::now() + EVICTION_INTERVAL);
            if let Ok(Ok(permit)) = timeout_at(next, &mut acquiring).await {
                return Ok(permit);
            }
            if Instant::now() >= deadline {
                self.capacity.record_timeout(timeout);
                let message = "too many isolated projects are awake";
                return Err(DbError::NotReady(message.to_owned()));
            }
        }
        Err(DbError::NotReady("plinth is shutting down".to_owned()))
    }

    /// Stops the server that has been without a lease for longest, if there is one.
    async fn stop_longest_idle(&self) -> bool {
        let Some((name, mut state)) = self.lock_longest_idle() else {
            return false;
        };
        self.stop_without_lease(&name, &mut state).await;
        true
    }

    fn lock_longest_idle(&self) -> Option<(ProjectRef, OwnedMutexGuard<State>)> {
        let idle = self.list_slots().into_iter().filter_map(|(name, slot)| {
            // One that is being started or stopped is not idle.
            let mut state = slot.try_lock_owned().ok()?;
            Some((state.idle_time()?, name, state))
        });
        let longest = idle.max_by_key(|(idle, ..)| *idle);
        longest.map(|(_, name, state)| (name, state))
    }
}
