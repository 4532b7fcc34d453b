//! How often a channel may speak about itself (§11).

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The calls of the last while.
#[derive(Debug, Default)]
pub(crate) struct PresenceCalls(VecDeque<Instant>);

impl PresenceCalls {
    /// Counts one more; tells whether it is one too many.
    pub(crate) fn exceed(&mut self, most: usize, window: Duration) -> bool {
        self.exceed_at(Instant::now(), most, window)
    }

    fn exceed_at(&mut self, now: Instant, most: usize, window: Duration) -> bool {
        while let Some(oldest) = self.0.front()
            && now.saturating_duration_since(*oldest) >= window
        {
            self.0.pop_front();
        }
        if self.0.len() >= most {
            return true;
        }
        self.0.push_back(now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_forgotten_after_their_window() {
        let mut calls = PresenceCalls::default();
        let begun = Instant::now();
        let window = Duration::from_secs(10);
        let mut exceed = |seconds| calls.exceed_at(begun + Duration::from_secs(seconds), 2, window);

        assert!(!exceed(0));
        assert!(!exceed(1));
        assert!(exceed(9));
        assert!(!exceed(10));
        assert!(exceed(10));
    }
}
