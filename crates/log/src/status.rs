//! Status of the store and its counters.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use crate::{Source, Timestamp};

/// Status of the log store, for the console's banner and `plinth doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whether the last attempt to write failed: records are being dropped now.
    pub is_failing: bool,
    /// The last error, even if it is resolved.
    pub last_error: Option<LastError>,
    /// Records written since the start.
    pub written: u64,
    /// Records dropped since the start: the queue was full, or writing failed.
    pub dropped: u64,
    /// Size of all segments.
    pub bytes_on_disk: u64,
}

/// An error of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// When.
    pub at: Timestamp,
    /// What, as a sentence.
    pub message: String,
}

/// Disk usage of one source of one project.
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

/// Counters, updated by the writer and, for drops, by the caller of `write`.
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
        // Only the writer's thread changes this value, so load and store need not be one operation.
        let left = self.bytes_on_disk.load(Relaxed).saturating_sub(bytes);
        self.bytes_on_disk.store(left, Relaxed);
    }

    pub(crate) fn set_bytes_on_disk(&self, bytes: u64) {
        self.bytes_on_disk.store(bytes, Relaxed);
    }

    pub(crate) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Relaxed);
    }

    /// Records the last error.
    pub(crate) fn record_error(&self, at: Timestamp, message: String) {
        let mut last = self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(LastError { at, message });
    }
}
