//! Deletes expired and excess segments.

use std::{fs, io, path::Path, time::Duration};

use crate::{
    Timestamp,
    segment::{Segment, Stream},
    store::Shared,
};

/// Applies a stream's retention and returns the segments that are left, oldest first.
///
/// The active segment is never deleted and counts as full, so that the stream stays within its limit
/// while that segment grows. Errors are recorded, not returned: writing continues.
pub(super) fn enforce(
    shared: &Shared,
    stream: &Stream,
    active: Option<&Path>,
    now: Timestamp,
) -> Vec<Segment> {
    let record_error = |error: io::Error| {
        let message = format!(
            "old {} logs of {} stay: {error}",
            stream.source, stream.project
        );
        shared.health.record_error(now, message);
    };
    let segments = match shared.layout.segments(stream) {
        Ok(segments) => oldest_first(segments, now),
        Err(error) => {
            record_error(error);
            return Vec::new();
        }
    };

    let retention = shared.retention().of(stream.source);
    let expiry = now.saturating_sub(retention.max_age);
    let is_active = |segment: &Segment| active == Some(&*segment.path);
    let disk_bytes_of = |segment: &Segment| {
        if is_active(segment) {
            segment.bytes.max(shared.config.segment_bytes)
        } else {
            segment.bytes
        }
    };
    let mut total: u64 = segments.iter().map(disk_bytes_of).sum();
    let starts: Vec<_> = segments.iter().map(Segment::start).collect();
    let mut kept = Vec::new();
    for (n, segment) in segments.into_iter().enumerate() {
        let next_start = starts.get(n + 1).copied().flatten();
        let is_unwanted =
            total > retention.max_bytes || is_expired(shared, &segment, next_start, expiry);
        if !is_unwanted || is_active(&segment) {
            kept.push(segment);
            continue;
        }
        match delete(shared, &segment) {
            Ok(()) => total -= segment.bytes,
            Err(error) => {
                record_error(error);
                kept.push(segment);
            }
        }
    }
    if kept.is_empty() {
        shared.layout.remove_if_empty(stream);
    }
    kept
}

/// Sorted by name, except that segments dated in the future by a wrong clock come first: they would
/// otherwise outlive everything.
fn oldest_first(mut segments: Vec<Segment>, now: Timestamp) -> Vec<Segment> {
    let horizon = now.saturating_add(Duration::from_secs(86_400));
    segments.sort_by_key(|segment| segment.start().is_none_or(|start| start <= horizon));
    segments
}

/// Whether all of a segment is older than `expiry`. Its name and the next one's bound its times; the file
/// is read only where these are inconclusive, so that a start with gigabytes of logs does not read
/// them all.
fn is_expired(
    shared: &Shared,
    segment: &Segment,
    next_start: Option<Timestamp>,
    expiry: Timestamp,
) -> bool {
    let Some(start) = segment.start() else {
        return false;
    };
    let day_end = start.end_of_day();
    let end = next_start
        .filter(|next| *next > start)
        .map_or(day_end, |next| next.min(day_end));
    if start >= expiry || end <= expiry {
        return end <= expiry;
    }
    match shared.bounds.bounds(segment) {
        Ok(Some(bounds)) => bounds.max < expiry,
        Ok(None) => true,
        // Unreadable for now; use the end of its day.
        Err(_) => false,
    }
}

fn delete(shared: &Shared, segment: &Segment) -> io::Result<()> {
    match fs::remove_file(&segment.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    shared.bounds.evict(&segment.path);
    shared.health.count_deleted(segment.bytes);
    Ok(())
}
