//! The limit on all worker processes together.

use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use super::FunctionsService;
use crate::{error::FunctionError, worker::ShutdownReason};

/// How often a worker that can be evicted is looked for.
const EVICTION_INTERVAL: Duration = Duration::from_millis(20);
/// How long a retiring worker has before another one is evicted.
const EVICTION_GRACE: Duration = Duration::from_secs(1);

impl FunctionsService {
    /// A permit for one more process. Prewarmed processes and idle workers are evicted for it.
    pub(super) async fn acquire_process_permit(
        &self,
        timeout: Duration,
    ) -> Result<OwnedSemaphorePermit, FunctionError> {
        let permits = self.0.process_permits.clone();
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        self.0.prewarmed.evict_one();
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let deadline = tokio::time::Instant::now() + timeout;
        let mut acquired = std::pin::pin!(permits.acquire_owned());
        let mut evicted_at: Option<Instant> = None;
        loop {
            // A worker that was evicted may have got a request at that very moment.
            if evicted_at.is_none_or(|at| at.elapsed() >= EVICTION_GRACE) {
                self.0.prewarmed.evict_one();
                evicted_at = self.evict_idle_worker().then(Instant::now);
            }
            tokio::select! {
                permit = &mut acquired => return permit.map_err(|_| FunctionError::NoCapacity),
                () = tokio::time::sleep_until(deadline) => return Err(FunctionError::NoCapacity),
                () = tokio::time::sleep(EVICTION_INTERVAL) => {}
            }
        }
    }

    /// Retires the worker that has been idle for longest, if there is one. Those that are kept warm come
    /// last.
    fn evict_idle_worker(&self) -> bool {
        let idle = self
            .pools()
            .values()
            .flat_map(|pool| pool.idle_workers())
            .max_by_key(|(time, worker)| (!worker.is_kept_warm(), *time));
        let Some((_, worker)) = idle else {
            return false;
        };
        worker.retire(ShutdownReason::EarlyDrop);
        true
    }
}
