//! Saying something once in a while, where every request could make us say it.

use std::sync::atomic::{AtomicI64, Ordering};

const PAUSE_MS: i64 = 60_000;
const NEVER: i64 = i64::MIN;

/// Allows one log line a minute: strangers decide how often the reason for it comes up.
pub(crate) struct Seldom(AtomicI64);

impl Seldom {
    pub(crate) const fn new() -> Self {
        Self(AtomicI64::new(NEVER))
    }

    /// Whether it is time to say it again.
    pub(crate) fn is_due(&self, now_ms: i64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let is_due = last == NEVER || now_ms.saturating_sub(last) >= PAUSE_MS;
        // Of several at once, one says it.
        is_due
            && self
                .0
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_minute() {
        let seldom = Seldom::new();

        let due: Vec<bool> = [0, 1, 59_999, 60_000, 60_001, 119_999, 120_000]
            .map(|now_ms| seldom.is_due(now_ms))
            .to_vec();

        assert_eq!(due, [true, false, false, true, false, false, true]);
    }
}
