//! Appending to one stream: buffering, rotation, failure and retry.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use super::retention;
use crate::{
    Timestamp,
    segment::{OpenSegment, Segment, Stream},
    store::Shared,
};

/// A buffer of this size is written before the batch ends.
const MAX_BUFFER_BYTES: usize = 1 << 20;

/// Writer of one stream. The buffer always fits into the open segment.
#[derive(Debug)]
pub(super) struct StreamWriter {
    stream: Stream,
    segment: Option<OpenSegment>,
    buffer: Vec<u8>,
    buffered_records: u64,
    /// Set by a failure, cleared by the next success.
    retry_at: Option<Instant>,
}

impl StreamWriter {
    pub(super) fn new(stream: Stream) -> Self {
        let buffer = Vec::new();
        Self {
            stream,
            segment: None,
            buffer,
            buffered_records: 0,
            retry_at: None,
        }
    }

    /// Buffers a line; starts a new segment when this one is full or the day has changed.
    pub(super) fn push(&mut self, shared: &Shared, line: &[u8]) {
        if self.retry_at.is_some_and(|at| Instant::now() < at) {
            shared.health.count_dropped(1);
            return;
        }
        if let Err(error) = self.free_space(shared, line.len() as u64) {
            self.fail(shared, &error, 1);
            return;
        }
        self.buffer.extend_from_slice(line);
        self.buffered_records += 1;
        if self.buffer.len() >= MAX_BUFFER_BYTES {
            self.flush(shared);
        }
    }

    /// Writes a line without buffering; the buffer must be empty. A failure is returned, not counted.
    pub(super) fn write_now(&mut self, shared: &Shared, line: &[u8]) -> bool {
        debug_assert!(self.buffer.is_empty());
        if self.retry_at.is_some_and(|at| Instant::now() < at) {
            return false;
        }
        let outcome = self
            .free_space(shared, line.len() as u64)
            .and_then(|()| self.append(line));
        match outcome {
            Ok(()) => shared.health.count_written(1, line.len() as u64),
            Err(error) => self.fail(shared, &error, 0),
        }
        self.retry_at.is_none()
    }

    /// Appends the buffer to the file.
    pub(super) fn flush(&mut self, shared: &Shared) {
        if self.buffer.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.buffer);
        let records = std::mem::take(&mut self.buffered_records);
        match self.append(&lines) {
            Ok(()) => shared.health.count_written(records, lines.len() as u64),
            Err(error) => self.fail(shared, &error, records),
        }
        // Keep the allocation.
        self.buffer = lines;
        self.buffer.clear();
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let segment = self.segment.as_mut().ok_or(io::ErrorKind::NotFound)?;
        segment.append(lines)?;
        self.retry_at = None;
        Ok(())
    }

    fn free_space(&mut self, shared: &Shared, line_bytes: u64) -> io::Result<()> {
        let now = shared.now();
        if let Some(segment) = &self.segment {
            let used = segment.bytes() + self.buffer.len() as u64;
            let fits = used == 0 || used + line_bytes <= shared.config.segment_bytes;
            if fits && segment.day() == now.day() {
                return Ok(());
            }
            self.flush(shared);
            self.segment = None;
        }
        self.segment = Some(self.open(shared, now, line_bytes)?);
        Ok(())
    }

    /// Reopens today's last segment if there is space, else starts a new one.
    fn open(&self, shared: &Shared, now: Timestamp, line_bytes: u64) -> io::Result<OpenSegment> {
        let dir = shared.layout.create_stream_dir(&self.stream)?;
        let today = |segment: &Segment| segment.start().filter(|start| start.day() == now.day());
        let segments = shared.layout.segments(&self.stream)?;
        let latest = segments
            .iter()
            .rev()
            .find_map(|segment| Some((segment, today(segment)?)));
        let start = match latest {
            Some((latest, _)) if latest.bytes + line_bytes <= shared.config.segment_bytes => {
                return OpenSegment::resume(latest, now);
            }
            // Names order the segments even if the clock stood still or went back.
            Some((_, start)) => now.max(start.saturating_add(Duration::from_micros(1))),
            None => now,
        };
        let segment = OpenSegment::create(&dir, start, now)?;
        retention::enforce(shared, &self.stream, Some(segment.path()), now);
        Ok(segment)
    }

    fn fail(&mut self, shared: &Shared, error: &io::Error, lost_records: u64) {
        let Stream { project, source } = &self.stream;
        let message = format!("the {source} log of project {project} cannot be written: {error}");
        shared.health.record_error(shared.now(), message);
        shared
            .health
            .count_dropped(lost_records + std::mem::take(&mut self.buffered_records));
        self.buffer.clear();
        self.segment = None;
        let backoff = shared.config.retry_after.min(Duration::from_secs(3600));
        self.retry_at = Some(Instant::now() + backoff);
    }

    /// Closes a segment of an earlier day, or whose file was deleted.
    pub(super) fn close_stale(&mut self, today: i64) {
        if self
            .segment
            .as_ref()
            .is_some_and(|open| open.day() != today || open.is_gone())
        {
            self.segment = None;
        }
    }

    /// Syncs the file to disk.
    pub(super) fn sync(&self, shared: &Shared) {
        if let Some(Err(error)) = self.segment.as_ref().map(OpenSegment::sync) {
            let Stream { project, source } = &self.stream;
            let message = format!("the {source} log of project {project} may be lost: {error}");
            shared.health.record_error(shared.now(), message);
        }
    }

    pub(super) fn is_failing(&self) -> bool {
        self.retry_at.is_some()
    }

    /// The file that must not be deleted.
    pub(super) fn active_path(&self) -> Option<&Path> {
        self.segment.as_ref().map(OpenSegment::path)
    }
}
