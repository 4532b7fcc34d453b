//! Serializes refreshes of the same token within this process, without holding a database
//! connection. Several tabs of a browser often refresh at once. Between processes, database locks
//! serialize.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    time::{Instant, timeout_at},
};

/// One lock per refresh token of a project.
#[derive(Default)]
pub(crate) struct RefreshQueue(Mutex<HashMap<String, Arc<AsyncMutex<()>>>>);

/// Permits one refresh; dropping it lets the next request continue.
pub(super) struct RefreshPermit<'a> {
    queue: &'a RefreshQueue,
    token: &'a str,
    guard: Option<OwnedMutexGuard<()>>,
}

impl RefreshQueue {
    /// Waits for the requests before this one; `None` after the timeout.
    pub(super) async fn acquire<'a>(
        &'a self,
        token: &'a str,
        deadline: Instant,
    ) -> Option<RefreshPermit<'a>> {
        let lock = self.with_locks(|locks| locks.entry(token.to_owned()).or_default().clone());
        let mut permit = RefreshPermit {
            queue: self,
            token,
            guard: None,
        };
        permit.guard = Some(timeout_at(deadline, lock.lock_owned()).await.ok()?);
        Some(permit)
    }

    fn with_locks<T>(&self, act: impl FnOnce(&mut HashMap<String, Arc<AsyncMutex<()>>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for RefreshPermit<'_> {
    fn drop(&mut self) {
        self.guard = None;
        self.queue.with_locks(|locks| {
            // Only the map holds the lock, so no task waits for it.
            let is_unused = locks
                .get(self.token)
                .is_some_and(|lock| Arc::strong_count(lock) == 1);
            if is_unused {
                locks.remove(self.token);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_and_nothing_is_left() {
        let queue = RefreshQueue::default();
        let soon = || Instant::now() + Duration::from_millis(20);

        let first = queue.acquire("a", soon()).await;
        assert!(first.is_some());
        assert!(queue.acquire("a", soon()).await.is_none(), "must wait");
        assert!(queue.acquire("b", soon()).await.is_some(), "another token");
        drop(first);
        assert!(queue.acquire("a", soon()).await.is_some());

        assert!(queue.with_locks(|locks| locks.is_empty()));
    }
}
