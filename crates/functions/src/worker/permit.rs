//! A request's permit to use a worker.

use std::sync::Arc;

use super::{ShutdownReason, Worker};

/// Held by a request in flight. The worker does not exit in order while there is one.
pub(crate) struct RequestPermit {
    worker: Arc<Worker>,
    number: u64,
}

impl Worker {
    /// A permit, unless the worker accepts no more requests.
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<RequestPermit> {
        let permit = RequestPermit {
            worker: self.clone(),
            number: self.activity.begin_request(),
        };
        // Checked after the request was counted: closing a worker counts requests afterwards.
        self.is_open().then(|| {
            self.woken.notify_one();
            permit
        })
    }
}

impl RequestPermit {
    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        let worker = &self.worker;
        if worker.is_oneshot {
            // Before the request is counted out, so that no other gets in.
            worker.stop_accepting();
        }
        worker.activity.end_request(self.number);
        if worker.is_oneshot {
            worker.retire(ShutdownReason::EarlyDrop);
        }
        worker.woken.notify_one();
        worker.released.notify_waiters();
    }
}
