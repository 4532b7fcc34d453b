//! How many per second, on the average of the last minute (§11). Bursts pass; what stays above its
//! limit does not.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use metrics::Counter;

const BUCKETS: usize = 12;
const BUCKET: Duration = Duration::from_secs(5);
const WINDOW_SECONDS: u64 = BUCKETS as u64 * BUCKET.as_secs();

/// A counter that forgets what is older than a minute.
#[derive(Debug)]
pub(crate) struct Rate {
    /// Forgets nothing.
    total: Counter,
    begun: Instant,
    /// The bucket that counts now, by its number since the beginning.
    current: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Rate {
    /// Of what `total` counts as well.
    pub(crate) fn counted_by(total: Counter) -> Self {
        Self {
            total,
            begun: Instant::now(),
            current: AtomicU64::new(0),
            buckets: Default::default(),
        }
    }

    /// So many happened now.
    pub(crate) fn add(&self, count: u64) {
        self.total.increment(count);
        self.add_at(count, Instant::now());
    }

    /// The average per second.
    pub(crate) fn average(&self) -> u64 {
        self.average_at(Instant::now())
    }

    fn add_at(&self, count: u64, now: Instant) {
        let bucket = self.turn_to(now);
        self.buckets[bucket].fetch_add(count, Relaxed);
    }

    fn average_at(&self, now: Instant) -> u64 {
        self.turn_to(now);
        let sum: u64 = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum();
        sum / WINDOW_SECONDS
    }

    /// Empties the buckets whose time has come again. Counts that race with that may fall into
    /// either bucket, which is no harm to an average.
    fn turn_to(&self, now: Instant) -> usize {
        let elapsed = now.saturating_duration_since(self.begun).as_secs();
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
    fn a_burst_is_spread_over_the_minute_and_then_forgotten() {
        let rate = Rate::counted_by(Counter::noop());
        let at = |seconds| rate.begun + Duration::from_secs(seconds);

        rate.add_at(600, at(0));
        assert_eq!(rate.average_at(at(1)), 10);
        rate.add_at(600, at(30));
        assert_eq!(rate.average_at(at(59)), 20);
        assert_eq!(rate.average_at(at(61)), 10);
        assert_eq!(rate.average_at(at(95)), 0);
    }

    #[test]
    fn a_long_silence_empties_everything() {
        let rate = Rate::counted_by(Counter::noop());
        rate.add_at(6000, rate.begun);
        let later = rate.begun + Duration::from_secs(3600);
        rate.add_at(60, later);
        assert_eq!(rate.average_at(later), 1);
    }
}
