//! How large a request's body may be.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// How large the request's body may be; an extension of every request.
///
/// A handler or a layer changes it before it reads the body; for whole routes there is
/// `axum::middleware::from_fn`, or [`BodyLimit::set`] at the top of the handler.
#[derive(Debug, Clone)]
pub struct BodyLimit(Arc<Meter>);

#[derive(Debug)]
struct Meter {
    max_bytes: AtomicU64,
    is_exceeded: AtomicBool,
    started: Instant,
    /// When the last piece of the body arrived, in milliseconds after `started`.
    last_piece: AtomicU64,
}

impl BodyLimit {
    /// A limit for one request; made by the gateway.
    pub fn new(max_bytes: u64) -> Self {
        Self(Arc::new(Meter {
            max_bytes: AtomicU64::new(max_bytes),
            is_exceeded: AtomicBool::new(false),
            started: Instant::now(),
            last_piece: AtomicU64::new(0),
        }))
    }

    /// Another limit for this request.
    pub fn set(&self, max_bytes: u64) {
        self.0.max_bytes.store(max_bytes, Relaxed);
    }

    /// No limit for this request: whoever reads the body watches its size.
    pub fn lift(&self) {
        self.set(u64::MAX);
    }

    /// The limit as it stands.
    pub fn max_bytes(&self) -> u64 {
        self.0.max_bytes.load(Relaxed)
    }

    /// Whether the body turned out to be larger.
    pub fn is_exceeded(&self) -> bool {
        self.0.is_exceeded.load(Relaxed)
    }

    /// The body turned out to be larger.
    pub fn mark_exceeded(&self) {
        self.0.is_exceeded.store(true, Relaxed);
    }

    /// When the client was last heard of.
    pub fn last_activity(&self) -> Instant {
        self.0.started + Duration::from_millis(self.0.last_piece.load(Relaxed))
    }

    /// A piece of the body arrived.
    pub fn note_activity(&self) {
        let elapsed = self.0.started.elapsed().as_millis();
        self.0
            .last_piece
            .store(u64::try_from(elapsed).unwrap_or(u64::MAX), Relaxed);
    }
}
