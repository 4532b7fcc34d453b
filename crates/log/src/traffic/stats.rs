//! Counts of requests, and their durations in buckets that grow by a quarter.

use std::{collections::BTreeMap, time::Duration};

/// Upper bound of the first bucket.
const FIRST_MS: f64 = 0.25;
const GROWTH: f64 = 1.25;
/// The last bucket begins at about three minutes.
const BUCKETS: u8 = 60;

/// Counts of some requests. A duration is known to an eighth.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    /// Responses by the first digit of their status: 1xx to 5xx.
    pub classes: [u64; 5],
    /// Bytes of the responses' bodies.
    pub bytes: u64,
    /// Counts by bucket.
    pub(super) durations: BTreeMap<u8, u64>,
}

impl Stats {
    pub(super) fn add(&mut self, status: u16, bytes: u64, duration: Duration) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.classes[class] += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        *self.durations.entry(bucket_of(duration)).or_default() += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (sum, count) in self.classes.iter_mut().zip(other.classes) {
            *sum = sum.saturating_add(count);
        }
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (bucket, count) in &other.durations {
            let sum = self.durations.entry(*bucket).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// How many requests.
    pub fn total(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// The duration in milliseconds below which this share of the requests is; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let total: u64 = self.durations.values().sum();
        let rank = (total as f64 * share.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut seen = 0;
        let reached = self.durations.iter().find(|(_, count)| {
            seen += **count;
            seen as f64 >= rank
        });
        reached.map(|(bucket, _)| middle_of(*bucket))
    }
}

fn bucket_of(duration: Duration) -> u8 {
    let milliseconds = duration.as_secs_f64() * 1000.0;
    let steps = (milliseconds / FIRST_MS).ln() / GROWTH.ln();
    // NaN and infinities become the bounds.
    (steps.ceil().max(0.0) as u8).min(BUCKETS)
}

/// In the middle of a bucket, by ratio.
fn middle_of(bucket: u8) -> f64 {
    let upper = FIRST_MS * GROWTH.powi(i32::from(bucket));
    let middle = upper / GROWTH.sqrt();
    (middle * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_known_to_an_eighth() {
        for milliseconds in [0.3, 1.0, 7.5, 42.0, 999.0, 15_000.0, 120_000.0] {
            let mut stats = Stats::default();
            stats.add(200, 1, Duration::from_secs_f64(milliseconds / 1000.0));

            let found = stats.quantile(0.5).expect("one request");

            let ratio = found / milliseconds;
            assert!((0.88..1.13).contains(&ratio), "{milliseconds}: {found}");
        }
    }

    #[test]
    fn extreme_durations_have_buckets() {
        assert_eq!(bucket_of(Duration::ZERO), 0);
        assert_eq!(bucket_of(Duration::MAX), BUCKETS);
        assert_eq!(Stats::default().quantile(0.5), None);
    }

    #[test]
    fn quantiles_follow_the_ranks() {
        let mut stats = Stats::default();
        for milliseconds in 1..=100 {
            stats.add(200, 0, Duration::from_millis(milliseconds));
        }

        let quantile = |share| stats.quantile(share).expect("requests");
        assert!((44.0..57.0).contains(&quantile(0.5)), "{}", quantile(0.5));
        assert!(
            (84.0..108.0).contains(&quantile(0.95)),
            "{}",
            quantile(0.95)
        );
        assert!(quantile(0.99) >= quantile(0.95));
        assert_eq!(stats.total(), 100);
    }

    #[test]
    fn merging_adds_up() {
        let (mut a, mut b) = (Stats::default(), Stats::default());
        a.add(200, 10, Duration::from_millis(1));
        b.add(503, 5, Duration::from_millis(1));
        b.add(999, 5, Duration::from_millis(9));

        a.merge(&b);

        assert_eq!(a.classes, [0, 1, 0, 0, 2]);
        assert_eq!((a.bytes, a.total()), (20, 3));
    }
}
