//! Record counts by level and time.

use std::time::Duration;

use crate::{
    Level, Query, QueryError, SearchError, Timestamp, parallel,
    query::Prefilter,
    search::{Candidate, TimeTexts, candidates, read_segment},
    segment::{BoundsCache, Layout, Lines},
};

/// The most buckets a histogram may have.
pub const MAX_BUCKETS: usize = 1000;

const EMPTY_RANGE: Duration = Duration::from_secs(3600);

/// Counts by level in equal time buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Where the first bucket starts.
    pub since: Timestamp,
    /// Where counting ends; the last bucket may reach beyond.
    pub until: Timestamp,
    /// How long each bucket is.
    pub width: Duration,
    /// The buckets in the order of time.
    pub buckets: Vec<Bucket>,
}

/// One time bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Where it starts.
    pub start: Timestamp,
    counts: [u64; Level::ALL.len()],
}

impl Bucket {
    /// How many records of this level.
    pub fn count(&self, level: Level) -> u64 {
        self.counts[level as usize]
    }

    /// How many records of all levels together.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Counts the matches of the query, ignoring its limit and cursor. Without a time range, all records.
pub(crate) fn histogram(
    layout: &Layout,
    bounds: &BoundsCache,
    query: &Query,
    buckets: usize,
    now: Timestamp,
) -> Result<Histogram, SearchError> {
    if !(1..=MAX_BUCKETS).contains(&buckets) {
        return Err(QueryError::Buckets(buckets).into());
    }
    let query = Query {
        limit: 1,
        cursor: None,
        ..query.clone()
    };
    query.check()?;
    let candidates = candidates(layout, bounds, &query)?;
    let (since, until) = range(&query, &candidates, now);
    if since >= until {
        return Err(QueryError::EmptyRange.into());
    }

    let query = Query {
        since: Some(since),
        until: Some(until),
        ..query
    };
    let mut histogram = empty(since, until, buckets);
    let counted = parallel::map_parts(&candidates, |part| {
        let mut counted = empty(since, until, buckets);
        let mut candidates = part.iter();
        let done = candidates.try_for_each(|candidate| counted.count(candidate, &query));
        done.map(|()| counted)
    });
    for part in counted {
        histogram.merge(&part?);
    }
    Ok(histogram)
}

/// The query's range, else from the first record to now (or to the last one, if later).
fn range(query: &Query, candidates: &[Candidate], now: Timestamp) -> (Timestamp, Timestamp) {
    let latest = candidates
        .iter()
        .map(|candidate| candidate.bounds.max)
        .max();
    let until = query.until.unwrap_or_else(|| {
        latest
            .map_or(now, |latest| latest.max(now))
            .saturating_add(Duration::from_micros(1))
    });
    let earliest = candidates
        .iter()
        .map(|candidate| candidate.bounds.min)
        .min();
    let since = query
        .since
        .or(earliest)
        .unwrap_or_else(|| until.saturating_sub(EMPTY_RANGE));
    (since, until)
}

fn empty(since: Timestamp, until: Timestamp, buckets: usize) -> Histogram {
    let span = until.as_micros().abs_diff(since.as_micros());
    let width = Duration::from_micros(span.div_ceil(buckets as u64));
    let buckets = (0..buckets as u32)
        .map(|n| Bucket {
            start: since.saturating_add(width.saturating_mul(n)),
            counts: [0; 5],
        })
        .collect();
    Histogram {
        since,
        until,
        width,
        buckets,
    }
}

impl Histogram {
    fn count(&mut self, candidate: &Candidate, query: &Query) -> Result<(), SearchError> {
        let content = read_segment(&candidate.segment)?;
        let times = TimeTexts::of(query);
        let prefilter = Prefilter::of(query);
        for line in Lines::backwards(&content).filter(|line| times.include(line.time_text)) {
            if !prefilter.admits(line.bytes) {
                continue;
            }
            // Without terms, time and level decide, which need no parsing.
            let head = if query.terms.is_empty() {
                line.head()
            } else {
                None
            };
            let counted = head.or_else(|| {
                let record = line.parse().filter(|record| query.matches(record))?;
                Some((record.time, record.level))
            });
            if let Some((time, level)) = counted {
                self.add(time, level);
            }
        }
        Ok(())
    }

    fn merge(&mut self, part: &Self) {
        for (bucket, counted) in self.buckets.iter_mut().zip(&part.buckets) {
            for (sum, count) in bucket.counts.iter_mut().zip(counted.counts) {
                *sum += count;
            }
        }
    }

    fn add(&mut self, time: Timestamp, level: Level) {
        let width = self.width.as_micros() as u64;
        let since_start = time.as_micros().abs_diff(self.since.as_micros());
        if let Some(bucket) = self.buckets.get_mut((since_start / width) as usize) {
            bucket.counts[level as usize] += 1;
        }
    }
}
