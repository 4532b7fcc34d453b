//! Reading what came after a record: the other half of its context.

use std::collections::BTreeMap;

use crate::{
    Cursor, Page, Query, Record, SearchError,
    query::{Position, Prefilter},
    search::{Candidate, TimeTexts, candidates, read_segment},
    segment::{BoundsCache, Layout, Lines},
};

/// The oldest matches behind `after`, newest first. The query's own cursor plays no part.
pub(crate) fn search_newer(
    layout: &Layout,
    bounds: &BoundsCache,
    query: &Query,
    after: &Cursor,
) -> Result<Page, SearchError> {
    let query = Query {
        since: query.since.max(Some(after.0.time)),
        cursor: None,
        ..query.clone()
    };
    query.check()?;
    let mut candidates = candidates(layout, bounds, &query)?;
    candidates.sort_by_key(|candidate| candidate.bounds.min);
    let mut oldest = Oldest {
        records: BTreeMap::new(),
        capacity: query.limit,
    };
    for candidate in &candidates {
        if oldest
            .ceiling()
            .is_some_and(|last| last.time < candidate.bounds.min)
        {
            break;
        }
        collect(candidate, &query, &after.0, &mut oldest)?;
    }
    let newest_first = oldest.records.into_iter().rev();
    let (positions, records) = newest_first
        .map(|(position, record)| (Cursor(position), record))
        .unzip();
    Ok(Page {
        records,
        positions,
        next: None,
    })
}

fn collect(
    candidate: &Candidate,
    query: &Query,
    after: &Position,
    oldest: &mut Oldest,
) -> Result<(), SearchError> {
    let content = read_segment(&candidate.segment)?;
    let times = TimeTexts::of(query);
    let prefilter = Prefilter::of(query);
    for line in Lines::backwards(&content) {
        let is_beyond = oldest
            .ceiling()
            .is_some_and(|last| line.time_text > &last.time.text()[..]);
        if is_beyond || !times.include(line.time_text) || !prefilter.admits(line.bytes) {
            continue;
        }
        let Some(record) = line.parse().filter(|record| query.matches(record)) else {
            continue;
        };
        let position = candidate.position(&record, line.offset);
        if position > *after {
            oldest.insert(position, record);
        }
    }
    Ok(())
}

/// The oldest records seen so far.
struct Oldest {
    records: BTreeMap<Position, Record>,
    capacity: usize,
}

impl Oldest {
    fn insert(&mut self, position: Position, record: Record) {
        self.records.insert(position, record);
        if self.records.len() > self.capacity {
            self.records.pop_last();
        }
    }

    /// Once full: nothing behind this is of interest.
    fn ceiling(&self) -> Option<&Position> {
        let last = self.records.last_key_value()?.0;
        (self.records.len() == self.capacity).then_some(last)
    }
}
