//! What the store says about itself, and the counters behind it.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use crate::{Source, Timestamp};

/// How the log store is doing, for the console's banner and `plinth doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whether the last attempt to write failed: records are being dropped now.
    pub is_failing: bool,
    /// The last thing that went wrong, even if it has passed since.
    pub last_error: Option<LastError>,
    /// Records written since the start.
    pub written: u64,
    /// Records lost since the start: the queue was full, or the disk refused them.
    pub dropped: u64,
    /// What all segments take together.
    pub bytes_on_disk: u64,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// When.
    pub at: Timestamp,
    /// What, as a sentence.
    pub message: String,
}

/// What one source of one project takes on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceUsage {
    /// The project.
    pub project: String,
    /// The source.
    pub source: Source,
    /// How many segments.
    pub segments: u64,
    /// Their sizes together.
    pub bytes: u64,
    /// The time of the oldest record kept.
    pub oldest: Option<Timestamp>,
}

/// The counters; written by the writer and, for drops, by whoever was refused.
#[derive(Debug, Default)]
pub(crate) struct Health {
    written: AtomicU64,
    dropped: AtomicU64,
    bytes_on_disk: AtomicU64,
    is_failing: AtomicBool,
    last_error: Mutex<Option<LastError>>,
}

impl Health {
    pub(crate) fn status(&self) -> Status {
        Status {
            is_failing: self.is_failing.load(Relaxed),
            last_error: self
                .last_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            written: self.written.load(Relaxed),
            dropped: self.dropped(),
            bytes_on_disk: self.bytes_on_disk.load(Relaxed),
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    pub(crate) fn count_dropped(&self, records: u64) {
        self.dropped.fetch_add(records, Relaxed);
    }

    pub(crate) fn count_written(&self, records: u64, bytes: u64) {
        self.written.fetch_add(records, Relaxed);
        self.bytes_on_disk.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn count_deleted(&self, bytes: u64) {
        // Only the writer's thread changes this number, so reading before writing loses nothing.
        let left = self.bytes_on_disk.load(Relaxed).saturating_sub(bytes);
        self.bytes_on_disk.store(left, Relaxed);
    }

    pub(crate) fn set_bytes_on_disk(&self, bytes: u64) {
        self.bytes_on_disk.store(bytes, Relaxed);
    }

    pub(crate) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Relaxed);
    }

    /// Remembers what went wrong, for whoever asks.
    pub(crate) fn note(&self, at: Timestamp, message: String) {
        let mut last = self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(LastError { at, message });
    }
}
