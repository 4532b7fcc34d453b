//! The writers of recently used streams.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{retention, stream::StreamWriter};
use crate::{Scope, segment::Stream, store::Shared};

/// How many streams keep their file open; others are reopened when needed.
const MAX_OPEN_STREAMS: usize = 256;

/// The writers of all streams in use.
#[derive(Debug)]
pub(super) struct Streams {
    shared: Arc<Shared>,
    writers: HashMap<Stream, Used>,
    /// Batch counter, to find the least recently used stream.
    batch: u64,
}

#[derive(Debug)]
struct Used {
    writer: StreamWriter,
    in_batch: u64,
}

impl Streams {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            writers: HashMap::new(),
            batch: 0,
        }
    }

    /// Buffers a line for a stream.
    pub(super) fn push(&mut self, stream: &Stream, line: &[u8]) {
        let shared = Arc::clone(&self.shared);
        self.writer(stream).push(&shared, line);
    }

    /// Writes a line immediately; returns false if that failed.
    pub(super) fn write_now(&mut self, stream: &Stream, line: &[u8]) -> bool {
        let shared = Arc::clone(&self.shared);
        let is_written = self.writer(stream).write_now(&shared, line);
        self.update_failing();
        is_written
    }

    fn writer(&mut self, stream: &Stream) -> &mut StreamWriter {
        let batch = self.batch;
        if !self.writers.contains_key(stream) {
            self.add_writer(stream.clone());
        }
        let used = self.writers.get_mut(stream).expect("added above");
        used.in_batch = batch;
        &mut used.writer
    }

    fn add_writer(&mut self, stream: Stream) {
        let used = Used {
            writer: StreamWriter::new(stream.clone()),
            in_batch: self.batch,
        };
        self.writers.insert(stream, used);
    }

    /// Ends a batch: flushes all buffers.
    pub(super) fn flush(&mut self) {
        for used in self.writers.values_mut() {
            used.writer.flush(&self.shared);
        }
        self.update_failing();
        self.close_least_used();
        self.batch += 1;
    }

    fn update_failing(&self) {
        let is_failing = self.writers.values().any(|used| used.writer.is_failing());
        self.shared.health.set_failing(is_failing);
    }

    fn close_least_used(&mut self) {
        if self.writers.len() <= MAX_OPEN_STREAMS {
            return;
        }
        let mut batches: Vec<u64> = self.writers.values().map(|used| used.in_batch).collect();
        batches.sort_unstable();
        let keep_from = batches[batches.len() - MAX_OPEN_STREAMS / 2];
        self.writers.retain(|_, used| used.in_batch >= keep_from);
    }

    /// Applies retention to all streams, also unused ones.
    pub(super) fn maintain(&mut self) {
        self.flush();
        let now = self.shared.now();
        for used in self.writers.values_mut() {
            used.writer.close_stale(now.day());
        }
        let streams = match self.shared.layout.streams(&Scope::All) {
            Ok(streams) => streams,
            Err(error) => {
                let message = format!("the log folder cannot be read: {error}");
                return self.shared.health.record_error(now, message);
            }
        };
        let mut bytes_on_disk = 0;
        let mut paths = HashSet::new();
        for stream in &streams {
            let active = self
                .writers
                .get(stream)
                .and_then(|used| used.writer.active_path());
            let kept = retention::enforce(&self.shared, stream, active, now);
            bytes_on_disk += kept.iter().map(|segment| segment.bytes).sum::<u64>();
            paths.extend(kept.into_iter().map(|segment| segment.path));
        }
        self.shared.health.set_bytes_on_disk(bytes_on_disk);
        self.shared.bounds.retain(|path| paths.contains(path));
    }

    /// Syncs all files to disk.
    pub(super) fn sync(&mut self) {
        for used in self.writers.values() {
            used.writer.sync(&self.shared);
        }
    }
}
