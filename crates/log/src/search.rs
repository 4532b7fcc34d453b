//! Reading pages of records, newest first.
//!
//! Segments are read one at a time, those with the latest records first, and only the newest matches so
//! far are kept. The search ends as soon as no unread segment can hold a newer one.

use std::{collections::BTreeMap, fs, io};

use crate::{
    Cursor, Query, Record, SearchError, Timestamp, parallel,
    query::{Position, Prefilter},
    segment::{BoundsCache, Layout, Lines, Segment, Stream, TimeBounds},
};

/// A page of records, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// At most as many as the query's limit.
    pub records: Vec<Record>,
    /// The position of each record: a page before or behind it begins there.
    pub positions: Vec<Cursor>,
    /// Where older records go on, if there are any.
    pub next: Option<Cursor>,
}

/// A segment that may hold records of interest.
pub(crate) struct Candidate {
    pub(crate) stream: Stream,
    pub(crate) segment: Segment,
    pub(crate) bounds: TimeBounds,
}

impl Candidate {
    pub(crate) fn position(&self, record: &Record, offset: u64) -> Position {
        Position {
            time: record.time,
            project: self.stream.project.clone(),
            source: self.stream.source,
            segment: self.segment.stamp.clone(),
            offset,
        }
    }
}

pub(crate) fn search(
    layout: &Layout,
    bounds: &BoundsCache,
    query: &Query,
) -> Result<Page, SearchError> {
    query.check()?;
    let mut candidates = candidates(layout, bounds, query)?;
    candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.bounds.max));

    // One more than requested shows whether there is a next page.
    let mut newest = Newest::holding(query.limit + 1);
    let mut rest = candidates.as_slice();
    // Often the first segment has enough.
    let mut at_once = 1;
    while let Some(next) = rest.first() {
        if newest.floor().is_some_and(|floor| floor > next.bounds.max) {
            break;
        }
        let (wave, others) = rest.split_at(at_once.min(rest.len()));
        let found = parallel::map(wave, |candidate| {
            let mut found = newest.like_this();
            collect(candidate, query, &mut found).map(|()| found)
        });
        for found in found {
            newest.merge(found?);
        }
        rest = others;
        at_once = parallel::threads();
    }
    Ok(newest.into_page(query.limit))
}

/// The segments that match the query's scope, sources, times and cursor, unordered.
pub(crate) fn candidates(
    layout: &Layout,
    bounds: &BoundsCache,
    query: &Query,
) -> Result<Vec<Candidate>, SearchError> {
    let streams = layout.streams(&query.scope);
    let streams = streams.map_err(|error| SearchError::read(layout.root(), error))?;
    let mut candidates = Vec::new();
    for stream in streams {
        if !query.covers(&stream.project, stream.source) {
            continue;
        }
        let segments = layout.segments(&stream);
        let segments =
            segments.map_err(|error| SearchError::read(layout.stream_dir(&stream), error))?;
        for segment in segments {
            let bounds = bounds.bounds(&segment);
            let bounds = bounds.map_err(|error| SearchError::read(&segment.path, error))?;
            if let Some(bounds) = bounds.filter(|bounds| overlaps(bounds, query)) {
                candidates.push(Candidate {
                    stream: stream.clone(),
                    segment,
                    bounds,
                });
            }
        }
    }
    Ok(candidates)
}

fn overlaps(bounds: &TimeBounds, query: &Query) -> bool {
    query.since.is_none_or(|since| bounds.max >= since)
        && query.until.is_none_or(|until| bounds.min < until)
        && query
            .cursor
            .as_ref()
            .is_none_or(|cursor| bounds.min <= cursor.0.time)
}

/// Reads a whole segment; empty if retention has deleted it meanwhile.
pub(crate) fn read_segment(segment: &Segment) -> Result<Vec<u8>, SearchError> {
    match fs::read(&segment.path) {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(SearchError::read(&segment.path, error)),
    }
}

fn collect(candidate: &Candidate, query: &Query, newest: &mut Newest) -> Result<(), SearchError> {
    let content = read_segment(&candidate.segment)?;
    let times = TimeTexts::of(query);
    let prefilter = Prefilter::of(query);
    let mut floor = newest.floor_text();
    for line in Lines::backwards(&content) {
        // Comparing the time as text avoids parsing most lines.
        if !times.include(line.time_text)
            || floor
                .as_ref()
                .is_some_and(|floor| line.time_text < floor.as_bytes())
            || !prefilter.admits(line.bytes)
        {
            continue;
        }
        let Some(record) = line.parse().filter(|record| query.matches(record)) else {
            continue;
        };
        let position = candidate.position(&record, line.offset);
        if query
            .cursor
            .as_ref()
            .is_some_and(|cursor| position >= cursor.0)
        {
            continue;
        }
        newest.insert(position, record);
        floor = newest.floor_text();
    }
    Ok(())
}

/// The query's time limits in the format of the lines.
pub(crate) struct TimeTexts {
    since: Option<String>,
    until: Option<String>,
    /// Inclusive, because records of the cursor's own microsecond may be left.
    cursor: Option<String>,
}

impl TimeTexts {
    pub(crate) fn of(query: &Query) -> Self {
        Self {
            since: query.since.map(|since| since.to_string()),
            until: query.until.map(|until| until.to_string()),
            cursor: query
                .cursor
                .as_ref()
                .map(|cursor| cursor.0.time.to_string()),
        }
    }

    pub(crate) fn include(&self, time: &[u8]) -> bool {
        self.since
            .as_ref()
            .is_none_or(|since| time >= since.as_bytes())
            && self
                .until
                .as_ref()
                .is_none_or(|until| time < until.as_bytes())
            && self
                .cursor
                .as_ref()
                .is_none_or(|cursor| time <= cursor.as_bytes())
    }
}

/// The newest records seen so far.
struct Newest {
    records: BTreeMap<Position, Record>,
    capacity: usize,
    /// What others know: nothing before it is of interest.
    known_floor: Option<Timestamp>,
}

impl Newest {
    fn holding(capacity: usize) -> Self {
        Self {
            records: BTreeMap::new(),
            capacity,
            known_floor: None,
        }
    }

    /// An empty one, for a part of the segments.
    fn like_this(&self) -> Self {
        Self {
            known_floor: self.floor(),
            ..Self::holding(self.capacity)
        }
    }

    fn merge(&mut self, part: Self) {
        for (position, record) in part.records {
            self.insert(position, record);
        }
    }

    fn insert(&mut self, position: Position, record: Record) {
        self.records.insert(position, record);
        if self.records.len() > self.capacity {
            self.records.pop_first();
        }
    }

    /// Once full: the time below which nothing is of interest.
    fn floor(&self) -> Option<Timestamp> {
        if self.records.len() < self.capacity {
            return self.known_floor;
        }
        let oldest = self.records.first_key_value();
        self.known_floor
            .max(oldest.map(|(position, _)| position.time))
    }

    fn floor_text(&self) -> Option<String> {
        self.floor().map(|floor| floor.to_string())
    }

    fn into_page(mut self, limit: usize) -> Page {
        let has_more = self.records.len() > limit;
        if has_more {
            self.records.pop_first();
        }
        let oldest = self
            .records
            .first_key_value()
            .map(|(position, _)| position.clone());
        let next = oldest.filter(|_| has_more).map(Cursor);
        let newest_first = self.records.into_iter().rev();
        let (positions, records) = newest_first
            .map(|(position, record)| (Cursor(position), record))
            .unzip();
        Page {
            records,
            positions,
            next,
        }
    }
}
