//! Durations of the stages of a request, for the header `Server-Timing` (rest contract §3.7).

use std::{fmt, time::Instant};

/// A stopwatch with laps.
pub(crate) struct Timing {
    last: Instant,
    laps: Vec<(&'static str, f64)>,
}

impl Timing {
    pub(crate) fn start() -> Self {
        Self {
            last: Instant::now(),
            laps: Vec::with_capacity(5),
        }
    }

    /// Ends a stage. Durations of a repeated stage add up.
    pub(crate) fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        let elapsed = (now - self.last).as_secs_f64() * 1000.0;
        self.last = now;
        match self.laps.iter_mut().find(|(lap, _)| *lap == name) {
            Some((_, total)) => *total += elapsed,
            None => self.laps.push((name, elapsed)),
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, elapsed)) in self.laps.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name};dur={elapsed:.1}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn steps_are_listed_in_their_order_in_milliseconds() {
        let mut timing = Timing::start();
        timing.laps = vec![("jwt", 0.0), ("plan", 12.34), ("response", 0.06)];

        assert_eq!(
            timing.to_string(),
            "jwt;dur=0.0, plan;dur=12.3, response;dur=0.1"
        );
    }

    #[test]
    fn a_step_that_was_done_twice_counts_both_times() {
        let mut timing = Timing::start();
        for name in ["plan", "transaction", "plan"] {
            timing.last -= Duration::from_millis(20);
            timing.lap(name);
        }

        let names: Vec<&str> = timing.laps.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["plan", "transaction"]);
        assert!(timing.laps[0].1 >= 40.0, "{timing}");
        assert!(timing.laps[1].1 >= 20.0, "{timing}");
    }
}
