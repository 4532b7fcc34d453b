//! How many presence calls a channel may make in a time window (§11).

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The times of the calls in the window.
#[derive(Debug, Default)]
pub(crate) struct PresenceWindow(VecDeque<Instant>);

impl PresenceWindow {
    /// Counts one more call, unless there are `max` already; returns whether it was counted.
    pub(crate) fn try_add(&mut self, max: usize, window: Duration) -> bool {
        self.try_add_at(Instant::now(), max, window)
    }

    fn try_add_at(&mut self, now: Instant, max: usize, window: Duration) -> bool {
        while let Some(oldest) = self.0.front()
            && now.saturating_duration_since(*oldest) >= window
        {
            self.0.pop_front();
        }
        if self.0.len() >= max {
            return false;
        }
        self.0.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_expire_after_the_window() {
        let mut calls = PresenceWindow::default();
        let begun = Instant::now();
        let window = Duration::from_secs(10);
        let mut try_add =
            |seconds| calls.try_add_at(begun + Duration::from_secs(seconds), 2, window);

        assert!(try_add(0));
        assert!(try_add(1));
        assert!(!try_add(9));
        assert!(try_add(10));
        assert!(!try_add(10));
    }
}
