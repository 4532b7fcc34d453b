//! The delay between attempts that keep failing.

use std::time::{Duration, Instant};

/// From this many consecutive failures on there is a delay.
pub(super) const FAILURES_BEFORE_BACKOFF: u32 = 3;
/// The longest delay after boots that failed.
pub(super) const MAX_BOOT_BACKOFF: Duration = Duration::from_secs(30);
/// The longest delay after crashes of young workers. Short enough for a request to wait: one request
/// may be what crashes them, and the others are not to blame.
pub(super) const MAX_CRASH_BACKOFF: Duration = Duration::from_secs(4);

/// Consecutive failures, and the delay that follows from them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// One more failure; from that many on there is a delay, twice as long each time.
    pub(super) fn add_failure(&mut self, failures_before: u32, longest: Duration, now: Instant) {
        self.failures += 1;
        if self.failures >= failures_before {
            let delay = Duration::from_secs(1 << (self.failures - failures_before).min(10));
            self.until = Some(now + delay.min(longest));
        }
    }

    /// How long nothing is to be tried yet.
    pub(super) fn remaining(&self, now: Instant) -> Option<Duration> {
        let remaining = self.until?.saturating_duration_since(now);
        (!remaining.is_zero()).then_some(remaining)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_the_longest() {
        let now = Instant::now();
        let mut backoff = Backoff::default();

        let seconds: Vec<_> = (0..7)
            .map(|_| {
                backoff.add_failure(1, MAX_BOOT_BACKOFF, now);
                backoff.remaining(now).map_or(0, |left| left.as_secs())
            })
            .collect();

        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn a_delay_ends_by_itself_and_the_next_one_is_longer() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut backoff = Backoff::default();
        let mut fail = |at| {
            backoff.add_failure(FAILURES_BEFORE_BACKOFF, MAX_BOOT_BACKOFF, at);
            backoff
        };

        fail(now);
        assert_eq!(fail(now).remaining(now), None);
        let third = fail(now);
        assert_eq!(third.remaining(now), Some(second));
        assert_eq!(third.remaining(now + second), None);
        let later = now + second;
        assert_eq!(fail(later).remaining(later), Some(2 * second));
    }
}
