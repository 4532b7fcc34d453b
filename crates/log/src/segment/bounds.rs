//! Time range of the records in a segment.
//!
//! Clocks jump and threads race, so neither a segment's name nor its first and last line are reliable.
//! Each segment is scanned once, reading only the time of each line; the result is cached with the
//! scanned length.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{layout::Segment, lines::line_time};
use crate::Timestamp;

/// The first and the last moment found in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeBounds {
    pub(crate) min: Timestamp,
    pub(crate) max: Timestamp,
}

impl TimeBounds {
    fn of(time: Timestamp) -> Self {
        Self {
            min: time,
            max: time,
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// The scanned length of a segment and its bounds.
#[derive(Debug, Clone, Copy, Default)]
struct Scan {
    /// The end of the last whole line.
    bytes: u64,
    bounds: Option<TimeBounds>,
}

/// Cached bounds of segments.
#[derive(Debug, Default)]
pub(crate) struct BoundsCache {
    scans: Mutex<HashMap<PathBuf, Scan>>,
}

impl BoundsCache {
    /// The bounds of a segment; nothing if it has no readable line or is gone.
    pub(crate) fn bounds(&self, segment: &Segment) -> io::Result<Option<TimeBounds>> {
        let known = self.scans().get(&segment.path).copied().unwrap_or_default();
        if known.bytes == segment.bytes {
            return Ok(known.bounds);
        }
        // A shorter file was truncated after a failed append and may have grown since.
        let from = if known.bytes < segment.bytes {
            known
        } else {
            Scan::default()
        };
        let content = match read_from(&segment.path, from.bytes) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.evict(&segment.path);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };

        let (whole, torn) = split_after_last_line(&content);
        let scan = Scan {
            bytes: from.bytes + whole.len() as u64,
            bounds: joined(from.bounds, bounds_of(whole)),
        };
        self.scans().insert(segment.path.clone(), scan);
        Ok(joined(scan.bounds, bounds_of(torn)))
    }

    pub(crate) fn evict(&self, path: &Path) {
        self.scans().remove(path);
    }

    /// Evicts every segment for which `is_kept` is false.
    pub(crate) fn retain(&self, is_kept: impl Fn(&Path) -> bool) {
        self.scans().retain(|path, _| is_kept(path));
    }

    fn scans(&self) -> MutexGuard<'_, HashMap<PathBuf, Scan>> {
        self.scans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

fn split_after_last_line(content: &[u8]) -> (&[u8], &[u8]) {
    let end = content
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    content.split_at(end)
}

fn bounds_of(content: &[u8]) -> Option<TimeBounds> {
    let times = || content.split(|byte| *byte == b'\n').filter_map(line_time);
    let earliest = times().min().and_then(parse_time);
    let latest = times().max().and_then(parse_time);
    match (earliest, latest) {
        (Some(min), Some(max)) => Some(TimeBounds { min, max }),
        // A line with an impossible time is in the way of comparing texts: compare times instead.
        _ => times()
            .filter_map(parse_time)
            .map(TimeBounds::of)
            .reduce(TimeBounds::join),
    }
}

fn joined(a: Option<TimeBounds>, b: Option<TimeBounds>) -> Option<TimeBounds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.join(b)),
        (a, b) => a.or(b),
    }
}

fn parse_time(text: &[u8]) -> Option<Timestamp> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Level, Record, Source};

    fn line(micros: i64) -> Vec<u8> {
        let mut line = Vec::new();
        Record::new(Source::Api, Level::Info, "m")
            .at(Timestamp::from_micros(micros))
            .write_line(&mut line);
        line
    }

    fn bounds(cache: &BoundsCache, path: &Path) -> Option<(i64, i64)> {
        let bytes = fs::metadata(path).map_or(1, |metadata| metadata.len());
        let segment = Segment {
            path: path.to_owned(),
            stamp: String::new(),
            bytes,
        };
        let bounds = cache.bounds(&segment).unwrap()?;
        Some((bounds.min.as_micros(), bounds.max.as_micros()))
    }

    #[test]
    fn records_out_of_order_are_within_the_bounds_as_the_segment_grows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("segment");
        let cache = BoundsCache::default();

        fs::write(&path, [line(50), line(10), line(30)].concat()).unwrap();
        assert_eq!(bounds(&cache, &path), Some((10, 50)));

        let torn = &line(70)[..60];
        fs::write(
            &path,
            [&line(50), &line(10), &line(30), &line(5), torn].concat(),
        )
        .unwrap();
        assert_eq!(
            bounds(&cache, &path),
            Some((5, 70)),
            "a torn line may still be completed"
        );

        fs::write(&path, line(20)).unwrap();
        assert_eq!(
            bounds(&cache, &path),
            Some((20, 20)),
            "a cut file is read anew"
        );
    }

    #[test]
    fn impossible_times_do_not_widen_or_hide_the_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("segment");
        let odd = b"{\"time\":\"9999-99-99T99:99:99.999999Z\"}\n".to_vec();
        fs::write(&path, [line(1), odd, line(2)].concat()).unwrap();

        assert_eq!(bounds(&BoundsCache::default(), &path), Some((1, 2)));
    }

    #[test]
    fn a_segment_that_is_gone_has_none() {
        let cache = BoundsCache::default();

        assert_eq!(bounds(&cache, Path::new("/nowhere/at/all")), None);
    }
}
