//! Events per second, averaged over the last minute (§11): a burst passes a limit, a sustained rate
//! does not.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use metrics::Counter;

const BUCKETS: usize = 12;
const BUCKET: Duration = Duration::from_secs(5);
const WINDOW_SECONDS: u64 = BUCKETS as u64 * BUCKET.as_secs();

/// A counter over a sliding window of a minute.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Never reset.
    total: Counter,
    started_at: Instant,
    /// The current bucket, counted since the start.
    current: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Rate {
    /// `total` counts the same events for ever.
    pub(crate) fn new(total: Counter) -> Self {
        Self {
            total,
            started_at: Instant::now(),
            current: AtomicU64::new(0),
            buckets: Default::default(),
        }
    }

    /// Counts events.
    pub(crate) fn add(&self, count: u64) {
        self.total.increment(count);
        self.add_at(count, Instant::now());
    }

    /// The average per second.
    pub(crate) fn average(&self) -> u64 {
        self.average_at(Instant::now())
    }

    fn add_at(&self, count: u64, now: Instant) {
        let bucket = self.advance_to(now);
        self.buckets[bucket].fetch_add(count, Relaxed);
    }

    fn average_at(&self, now: Instant) -> u64 {
        self.advance_to(now);
        let sum: u64 = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum();
        sum / WINDOW_SECONDS
    }

    /// Clears the buckets that have expired and returns the current one. Counts that race with this
    /// may fall into either bucket, which does not matter for an average.
    fn advance_to(&self, now: Instant) -> usize {
        let elapsed = now.saturating_duration_since(self.started_at).as_secs();
        let number = elapsed / BUCKET.as_secs();
        let known = self.current.load(Relaxed);
        if number > known
            && self
                .current
                .compare_exchange(known, number, Relaxed, Relaxed)
                .is_ok()
        {
            let stale = (number - known).min(BUCKETS as u64);
            for back in 0..stale {
                self.buckets[index(number - back)].store(0, Relaxed);
            }
        }
        index(number)
    }
}

fn index(number: u64) -> usize {
    (number % BUCKETS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_averaged_over_a_minute() {
        let rate = Rate::new(Counter::noop());
        let at = |seconds| rate.started_at + Duration::from_secs(seconds);

        rate.add_at(600, at(0));
        assert_eq!(rate.average_at(at(1)), 10);
        rate.add_at(600, at(30));
        assert_eq!(rate.average_at(at(59)), 20);
        assert_eq!(rate.average_at(at(61)), 10);
        assert_eq!(rate.average_at(at(95)), 0);
    }

    #[test]
    fn a_long_pause_clears_all_buckets() {
        let rate = Rate::new(Counter::noop());
        rate.add_at(6000, rate.started_at);
        let later = rate.started_at + Duration::from_secs(3600);
        rate.add_at(60, later);
        assert_eq!(rate.average_at(later), 1);
    }
}
