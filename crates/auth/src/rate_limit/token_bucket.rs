//! A token bucket.

use time::OffsetDateTime;

use crate::config::{Rate, Refill};

/// Starts full.
#[derive(Debug, Default)]
pub(super) struct TokenBucket(Option<State>);

#[derive(Debug, Clone, Copy)]
struct State {
    left: f64,
    /// The time of `level`; for buckets that refill at once, the time of the last refill.
    at: OffsetDateTime,
}

impl TokenBucket {
    /// Takes one token, if available.
    pub(super) fn take_token(&mut self, rate: &Rate, now: OffsetDateTime) -> bool {
        let mut taken = match self.0 {
            Some(taken) => taken.refilled(rate, now),
            None => State {
                left: rate.capacity(),
                at: now,
            },
        };
        let is_allowed = taken.left >= 1.0;
        if is_allowed {
            taken.left -= 1.0;
        }
        self.0 = Some(taken);
        is_allowed
    }
}

impl Rate {
    /// The capacity.
    fn capacity(&self) -> f64 {
        match self.refill {
            Refill::Steady { burst } => burst,
            Refill::AtOnce => self.count,
        }
    }
}

impl State {
    fn refilled(self, rate: &Rate, now: OffsetDateTime) -> Self {
        let per = rate.per.as_secs_f64();
        // A clock that was set back changes nothing.
        let passed = (now - self.at).as_seconds_f64().max(0.0);
        match rate.refill {
            Refill::Steady { burst } => {
                let back = if per > 0.0 {
                    passed * rate.count / per
                } else {
                    burst
                };
                Self {
                    left: (self.left + back).min(burst),
                    at: now,
                }
            }
            Refill::AtOnce if passed < per => self,
            Refill::AtOnce => {
                let into_window = if per > 0.0 { passed % per } else { 0.0 };
                Self {
                    left: rate.count,
                    at: now - time::Duration::seconds_f64(into_window),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    const START: OffsetDateTime = datetime!(2026-01-01 00:00 UTC);

    /// How many of `asked` requests pass `seconds` after the start.
    fn taken(bucket: &mut TokenBucket, rate: &Rate, seconds: f64, count: usize) -> usize {
        let now = START + time::Duration::seconds_f64(seconds);
        (0..count).filter(|_| bucket.take_token(rate, now)).count()
    }

    #[test]
    fn thirty_at_once_then_thirty_per_five_minutes() {
        let (rate, mut bucket) = (Rate::per_five_minutes(30.0), TokenBucket::default());

        assert_eq!(taken(&mut bucket, &rate, 0.0, 100), 30);
        assert_eq!(taken(&mut bucket, &rate, 9.9, 1), 0);
        assert_eq!(taken(&mut bucket, &rate, 10.0, 2), 1);
        assert_eq!(taken(&mut bucket, &rate, 310.0, 100), 30);
        assert_eq!(
            taken(&mut bucket, &rate, 100_000.0, 100),
            30,
            "no more is saved"
        );
    }

    #[test]
    fn refreshes_come_back_every_two_seconds() {
        let (rate, mut bucket) = (Rate::per_five_minutes(150.0), TokenBucket::default());

        assert_eq!(taken(&mut bucket, &rate, 0.0, 100), 30);
        assert_eq!(taken(&mut bucket, &rate, 2.0, 100), 1);
        assert_eq!(taken(&mut bucket, &rate, 22.0, 100), 10);
    }

    #[test]
    fn what_is_counted_by_the_hour_comes_back_with_the_next_hour() {
        let (rate, mut bucket) = (Rate::in_each_hour(2.0), TokenBucket::default());

        assert_eq!(taken(&mut bucket, &rate, 0.0, 5), 2);
        assert_eq!(taken(&mut bucket, &rate, 3599.0, 5), 0);
        assert_eq!(taken(&mut bucket, &rate, 3600.0 + 1800.0, 5), 2);
        assert_eq!(taken(&mut bucket, &rate, 7199.0, 5), 0, "hours do not move");
        assert_eq!(taken(&mut bucket, &rate, 7200.0, 5), 2);
    }

    #[test]
    fn none_is_none() {
        let mut bucket = TokenBucket::default();
        assert_eq!(taken(&mut bucket, &Rate::in_each_hour(0.0), 0.0, 5), 0);
    }

    #[test]
    fn a_clock_that_is_set_back_gives_nothing() {
        let (rate, mut bucket) = (Rate::per_hour(1.0), TokenBucket::default());

        assert_eq!(taken(&mut bucket, &rate, 100.0, 5), 1);
        assert_eq!(taken(&mut bucket, &rate, 0.0, 5), 0);
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_what_came_back(
            steps in prop::collection::vec((0.0..100.0_f64, 0_usize..50), 1..40),
            count in 0_u16..500,
        ) {
            let rate = Rate::steady(f64::from(count), Duration::from_secs(300), 30.0);
            let (mut bucket, mut clock, mut total) = (TokenBucket::default(), 0.0, 0);
            for (wait, count) in steps {
                clock += wait;
                total += taken(&mut bucket, &rate, clock, count);
            }
            let allowed = 30.0 + clock * f64::from(count) / 300.0;
            prop_assert!(total as f64 <= allowed + 1e-3);
        }
    }
}
