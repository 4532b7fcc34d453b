//! Whether a project's replication stream is up, for all modules below the task that reads it
//! (`stream`).

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;

/// How many transactions [`StreamHandle::recent_transactions`] remembers. Each transaction that is
/// decoded but not yet visible has a backend of its own, so there are hardly more.
const MAX_RECENT_TRANSACTIONS: usize = 1_024;
/// Older transactions have become visible long ago.
const RECENT: Duration = Duration::from_secs(60);

/// Whether changes arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamStatus {
    /// They do not: with the error, or `None` if the stream has not been started.
    Down(Option<Arc<str>>),
    /// They do. Between two generations changes may have been lost.
    Up { generation: u64 },
}

/// The stream of one project, as seen by other modules than `stream`.
#[derive(Debug)]
pub(crate) struct StreamHandle {
    status: watch::Sender<StreamStatus>,
    is_running: Mutex<bool>,
    /// The last transactions whose messages were broadcast, the newest last.
    recent: Mutex<VecDeque<(Instant, u32)>>,
}

impl Default for StreamHandle {
    fn default() -> Self {
        Self {
            status: watch::Sender::new(StreamStatus::Down(None)),
            is_running: Mutex::new(false),
            recent: Mutex::default(),
        }
    }
}

impl StreamHandle {
    pub(crate) fn watch_status(&self) -> watch::Receiver<StreamStatus> {
        self.status.subscribe()
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(*self.status.borrow(), StreamStatus::Up { .. })
    }

    /// Waits until the stream is up or has failed, for at most `timeout`.
    pub(crate) async fn wait_until_started(&self, timeout: Duration) {
        let mut status = self.watch_status();
        let is_started = status.wait_for(|status| *status != StreamStatus::Down(None));
        _ = tokio::time::timeout(timeout, is_started).await;
    }

    pub(crate) fn set_status(&self, status: StreamStatus) {
        self.status.send_if_modified(|known| {
            *known != status && {
                *known = status;
                true
            }
        });
    }

    /// The transactions whose messages were broadcast recently.
    pub(crate) fn recent_transactions(&self) -> Vec<u32> {
        let recent = self.lock_recent();
        let recent = recent.iter().filter(|(at, _)| at.elapsed() < RECENT);
        recent.map(|(_, transaction)| *transaction).collect()
    }

    /// To be called before messages of the transaction are broadcast.
    pub(crate) fn record_transaction(&self, transaction: u32) {
        let mut recent = self.lock_recent();
        if recent.back().is_some_and(|(_, last)| *last == transaction) {
            return;
        }
        if recent.len() == MAX_RECENT_TRANSACTIONS {
            recent.pop_front();
        }
        recent.push_back((Instant::now(), transaction));
    }

    fn lock_recent(&self) -> MutexGuard<'_, VecDeque<(Instant, u32)>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `start` unless the task runs already.
    pub(crate) fn ensure_running(&self, start: impl FnOnce()) {
        let mut is_running = self.lock_running();
        if !std::mem::replace(&mut *is_running, true) {
            start();
        }
    }

    /// The task is idle; returns whether it may end, which it may not if it is `needed` again.
    pub(crate) fn stop_unless(&self, needed: impl FnOnce() -> bool) -> bool {
        let mut is_running = self.lock_running();
        *is_running = needed();
        !*is_running
    }

    /// The task ends, whether it is needed or not.
    pub(crate) fn mark_stopped(&self) {
        *self.lock_running() = false;
    }

    fn lock_running(&self) -> MutexGuard<'_, bool> {
        self.is_running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
