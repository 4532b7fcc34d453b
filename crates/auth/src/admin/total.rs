//! How many rows a list has in all.
//!
//! Counting reads every row. Small tables are counted each time; of large ones the number is cached
//! for a while. Whether there is another page is never decided by the cache alone: see
//! [`TotalCache::at_least`].

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use time::OffsetDateTime;

/// Below this number counting is cheap.
pub(super) const MIN_CACHED: u64 = 10_000;
const TTL: Duration = Duration::from_secs(30);
/// Audiences come from requests, so their number must be bounded.
const MAX_ENTRIES: usize = 100;

/// Totals of one project, by what was counted.
#[derive(Default)]
pub(crate) struct TotalCache(Mutex<HashMap<String, Entry>>);

#[derive(Clone, Copy)]
struct Entry {
    total: u64,
    counted_at: OffsetDateTime,
}

impl TotalCache {
    /// A total that has not expired.
    pub(crate) fn get(&self, what: &str, now: OffsetDateTime) -> Option<u64> {
        let entry = self.lock().get(what).copied();
        entry.filter(|entry| entry.is_fresh(now)).map(|it| it.total)
    }

    /// Caches a total that was just counted, if it is large.
    pub(crate) fn insert(&self, what: &str, total: u64, now: OffsetDateTime) {
        let mut totals = self.lock();
        totals.retain(|_, entry| entry.is_fresh(now));
        if total >= MIN_CACHED && totals.len() < MAX_ENTRIES {
            let entry = Entry {
                total,
                counted_at: now,
            };
            totals.insert(what.to_owned(), entry);
        }
    }

    /// A cached total, raised to what the page that was read shows: the rows up to its end, and one
    /// more if another follows.
    pub(crate) fn at_least(total: u64, rows_seen: u64, has_more: bool) -> u64 {
        total.max(rows_seen + u64::from(has_more))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_fresh(self, now: OffsetDateTime) -> bool {
        now >= self.counted_at && now < self.counted_at + TTL
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);

    #[test]
    fn only_large_numbers_are_cached_and_not_for_long() {
        let totals = TotalCache::default();
        totals.insert("small", MIN_CACHED - 1, NOW);
        totals.insert("large", MIN_CACHED, NOW);

        assert_eq!(totals.get("small", NOW), None);
        assert_eq!(totals.get("large", NOW), Some(MIN_CACHED));
        assert_eq!(totals.get("large", NOW + TTL), None);
    }

    #[test]
    fn a_page_that_goes_on_is_never_the_last() {
        assert_eq!(TotalCache::at_least(100, 50, true), 100);
        assert_eq!(TotalCache::at_least(100, 100, true), 101);
        assert_eq!(TotalCache::at_least(100, 120, false), 120);
    }
}
