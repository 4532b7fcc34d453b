//! How many rows a list has in all.
//!
//! Counting means reading every row. Small tables are counted anew each time; of large ones the
//! number is remembered for a while, so that a million users make no list slow. Whether there is
//! another page is never taken from memory alone: see [`Totals::settle`].

use std::{collections::HashMap, sync::Mutex, time::Duration};

use time::OffsetDateTime;

/// Up to here counting costs next to nothing.
pub(super) const LARGE: u64 = 10_000;
const REMEMBERED: Duration = Duration::from_secs(30);
/// Audiences come from outside, so what is remembered of them has an end.
const MAX_REMEMBERED: usize = 100;

/// Of one project, by what was counted.
#[derive(Default)]
pub(crate) struct Totals(Mutex<HashMap<String, Counted>>);

#[derive(Clone, Copy)]
struct Counted {
    total: u64,
    at: OffsetDateTime,
}

impl Totals {
    /// A number that is still good.
    pub(crate) fn remembered(&self, what: &str, now: OffsetDateTime) -> Option<u64> {
        let totals = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        let counted = totals.get(what).filter(|counted| counted.is_good(now))?;
        Some(counted.total)
    }

    /// Keeps a number that was just counted, if it was worth it.
    pub(crate) fn remember(&self, what: &str, total: u64, now: OffsetDateTime) {
        let mut totals = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        totals.retain(|_, counted| counted.is_good(now));
        if total >= LARGE && totals.len() < MAX_REMEMBERED {
            totals.insert(what.to_owned(), Counted { total, at: now });
        }
    }

    /// A remembered number, made to agree with the page that was read: rows that were seen count,
    /// and so does one that was seen to follow.
    pub(crate) fn settle(total: u64, rows_seen: u64, has_more: bool) -> u64 {
        total.max(rows_seen + u64::from(has_more))
    }
}

impl Counted {
    fn is_good(self, now: OffsetDateTime) -> bool {
        now >= self.at && now < self.at + REMEMBERED
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);

    #[test]
    fn only_large_numbers_are_remembered_and_not_for_long() {
        let totals = Totals::default();
        totals.remember("small", LARGE - 1, NOW);
        totals.remember("large", LARGE, NOW);

        assert_eq!(totals.remembered("small", NOW), None);
        assert_eq!(totals.remembered("large", NOW), Some(LARGE));
        assert_eq!(totals.remembered("large", NOW + REMEMBERED), None);
    }

    #[test]
    fn a_page_that_goes_on_is_never_the_last() {
        assert_eq!(Totals::settle(100, 50, true), 100);
        assert_eq!(Totals::settle(100, 100, true), 101);
        assert_eq!(Totals::settle(100, 120, false), 120);
    }
}
