//! How full one bucket is.

use time::OffsetDateTime;

use crate::config::{Rate, Refill};

/// Full until somebody takes.
#[derive(Debug, Default)]
pub(super) struct Level(Option<Taken>);

#[derive(Debug, Clone, Copy)]
struct Taken {
    left: f64,
    /// As of when; for what comes back at once, when it last did.
    at: OffsetDateTime,
}

impl Level {
    /// Takes one, if there is one.
    pub(super) fn take(&mut self, rate: &Rate, now: OffsetDateTime) -> bool {
        let mut taken = match self.0 {
            Some(taken) => taken.refilled(rate, now),
            None => Taken {
                left: rate.most(),
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
    /// What a full bucket holds.
    fn most(&self) -> f64 {
        match self.refill {
            Refill::Steady { burst } => burst,
            Refill::AtOnce => self.count,
        }
    }
}

impl Taken {
    fn refilled(self, rate: &Rate, now: OffsetDateTime) -> Self {
        let per = rate.per.as_secs_f64();
        // A clock that was set back gives nothing and takes nothing.
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

    /// How many of `asked` are let through `seconds` after the start.
    fn taken(level: &mut Level, rate: &Rate, seconds: f64, asked: usize) -> usize {
        let now = START + time::Duration::seconds_f64(seconds);
        (0..asked).filter(|_| level.take(rate, now)).count()
    }

    #[test]
    fn thirty_at_once_then_thirty_per_five_minutes() {
        let (rate, mut level) = (Rate::per_five_minutes(30.0), Level::default());

        assert_eq!(taken(&mut level, &rate, 0.0, 100), 30);
        assert_eq!(taken(&mut level, &rate, 9.9, 1), 0);
        assert_eq!(taken(&mut level, &rate, 10.0, 2), 1);
        assert_eq!(taken(&mut level, &rate, 310.0, 100), 30);
        assert_eq!(
            taken(&mut level, &rate, 100_000.0, 100),
            30,
            "no more is saved"
        );
    }

    #[test]
    fn refreshes_come_back_every_two_seconds() {
        let (rate, mut level) = (Rate::per_five_minutes(150.0), Level::default());

        assert_eq!(taken(&mut level, &rate, 0.0, 100), 30);
        assert_eq!(taken(&mut level, &rate, 2.0, 100), 1);
        assert_eq!(taken(&mut level, &rate, 22.0, 100), 10);
    }

    #[test]
    fn what_is_counted_by_the_hour_comes_back_with_the_next_hour() {
        let (rate, mut level) = (Rate::in_each_hour(2.0), Level::default());

        assert_eq!(taken(&mut level, &rate, 0.0, 5), 2);
        assert_eq!(taken(&mut level, &rate, 3599.0, 5), 0);
        assert_eq!(taken(&mut level, &rate, 3600.0 + 1800.0, 5), 2);
        assert_eq!(taken(&mut level, &rate, 7199.0, 5), 0, "hours do not move");
        assert_eq!(taken(&mut level, &rate, 7200.0, 5), 2);
    }

    #[test]
    fn none_is_none() {
        let mut level = Level::default();
        assert_eq!(taken(&mut level, &Rate::in_each_hour(0.0), 0.0, 5), 0);
    }

    #[test]
    fn a_clock_that_is_set_back_gives_nothing() {
        let (rate, mut level) = (Rate::per_hour(1.0), Level::default());

        assert_eq!(taken(&mut level, &rate, 100.0, 5), 1);
        assert_eq!(taken(&mut level, &rate, 0.0, 5), 0);
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_what_came_back(
            steps in prop::collection::vec((0.0..100.0_f64, 0_usize..50), 1..40),
            count in 0_u16..500,
        ) {
            let rate = Rate::steady(f64::from(count), Duration::from_secs(300), 30.0);
            let (mut level, mut clock, mut total) = (Level::default(), 0.0, 0);
            for (wait, asked) in steps {
                clock += wait;
                total += taken(&mut level, &rate, clock, asked);
            }
            let allowed = 30.0 + clock * f64::from(count) / 300.0;
            prop_assert!(total as f64 <= allowed + 1e-3);
        }
    }
}
