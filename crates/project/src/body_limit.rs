//! The body limit of a request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Body limit and last activity of a request; an extension of every request.
///
/// A handler or a middleware may change the limit before the body is read.
#[derive(Debug, Clone)]
pub struct BodyLimit(Arc<Meter>);

#[derive(Debug)]
struct Meter {
    max_bytes: AtomicU64,
    is_exceeded: AtomicBool,
    started: Instant,
    /// When the last chunk of the body arrived, in milliseconds after `started`.
    last_chunk: AtomicU64,
}

impl BodyLimit {
    /// A limit for one request; created by the gateway.
    pub fn new(max_bytes: u64) -> Self {
        Self(Arc::new(Meter {
            max_bytes: AtomicU64::new(max_bytes),
            is_exceeded: AtomicBool::new(false),
            started: Instant::now(),
            last_chunk: AtomicU64::new(0),
        }))
    }

    /// Changes the limit of this request.
    pub fn set(&self, max_bytes: u64) {
        self.0.max_bytes.store(max_bytes, Relaxed);
    }

    /// Removes the limit: the reader of the body checks its size itself.
    pub fn lift(&self) {
        self.set(u64::MAX);
    }

    /// The current limit.
    pub fn max_bytes(&self) -> u64 {
        self.0.max_bytes.load(Relaxed)
    }

    /// Whether the body was larger than the limit.
    pub fn is_exceeded(&self) -> bool {
        self.0.is_exceeded.load(Relaxed)
    }

    /// Records that the body was larger than the limit.
    pub fn mark_exceeded(&self) {
        self.0.is_exceeded.store(true, Relaxed);
    }

    /// The last activity, from which the request timeout counts.
    pub fn last_activity(&self) -> Instant {
        self.0.started + Duration::from_millis(self.0.last_chunk.load(Relaxed))
    }

    /// Records activity: a chunk of the body arrived, or long work goes on.
    pub fn note_activity(&self) {
        let elapsed = self.0.started.elapsed().as_millis();
        self.0
            .last_chunk
            .store(u64::try_from(elapsed).unwrap_or(u64::MAX), Relaxed);
    }
}
