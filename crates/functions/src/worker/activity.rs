//! What a worker is busy with.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::clock;

/// Requests in flight and work after them, shared by requests and the monitor.
pub(super) struct Activity {
    in_flight: AtomicUsize,
    /// Promises given to `waitUntil` that are pending, as last reported.
    background_work: AtomicUsize,
    /// When each request in flight was admitted, by its number.
    admitted_at: Mutex<BTreeMap<u64, Instant>>,
    /// Requests so far.
    admitted: AtomicU64,
    has_responded: AtomicBool,
    /// When it last had work, by [`clock::millis`].
    last_used: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            in_flight: AtomicUsize::new(0),
            background_work: AtomicUsize::new(0),
            admitted_at: Mutex::default(),
            admitted: AtomicU64::new(0),
            has_responded: AtomicBool::new(false),
            last_used: AtomicU64::new(clock::millis()),
        }
    }

    fn admitted_at(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.admitted_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a request, whose number is returned.
    pub(super) fn begin_request(&self) -> u64 {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let number = self.admitted.fetch_add(1, Ordering::SeqCst);
        self.admitted_at().insert(number, Instant::now());
        number
    }

    pub(super) fn end_request(&self, number: u64) {
        self.note_use();
        self.admitted_at().remove(&number);
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    /// Requests so far.
    pub(super) fn admitted(&self) -> u64 {
        self.admitted.load(Ordering::SeqCst)
    }

    /// When the oldest request in flight was admitted.
    pub(super) fn oldest_request(&self) -> Option<Instant> {
        self.admitted_at().values().next().copied()
    }

    pub(super) fn note_background_work(&self, pending: usize) {
        let before = self.background_work.swap(pending, Ordering::SeqCst);
        if before > 0 && pending == 0 {
            self.note_use();
        }
    }

    fn note_use(&self) {
        self.last_used.store(clock::millis(), Ordering::Relaxed);
    }

    pub(super) fn idle_for(&self) -> Option<Duration> {
        let is_idle = self.in_flight() == 0 && self.background_work.load(Ordering::SeqCst) == 0;
        is_idle.then(|| clock::since(self.last_used.load(Ordering::Relaxed)))
    }

    pub(super) fn note_response(&self) {
        self.has_responded.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_responded(&self) -> bool {
        self.has_responded.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_idle_without_requests_and_without_work_after_them() {
        let activity = Activity::new();
        assert!(activity.idle_for().is_some());

        let (first, second) = (activity.begin_request(), activity.begin_request());
        let since = activity.oldest_request();
        assert_eq!((activity.in_flight(), activity.admitted()), (2, 2));
        activity.end_request(first);
        assert!(activity.oldest_request() >= since);
        activity.end_request(second);
        assert_eq!(activity.oldest_request(), None);
        assert!(activity.idle_for().is_some());

        activity.note_background_work(1);
        assert_eq!(activity.idle_for(), None);
        activity.note_background_work(0);
        assert!(activity.idle_for().is_some());
    }
}
