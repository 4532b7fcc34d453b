//! Rate limit for log lines that any request can cause.

use std::sync::atomic::{AtomicI64, Ordering};

const INTERVAL_MS: i64 = 60_000;
const NEVER: i64 = i64::MIN;

/// Allows one log line per minute.
pub(crate) struct LogThrottle(AtomicI64);

impl LogThrottle {
    pub(crate) const fn new() -> Self {
        Self(AtomicI64::new(NEVER))
    }

    /// Whether a line may be logged now.
    pub(crate) fn is_due(&self, now_ms: i64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let is_due = last == NEVER || now_ms.saturating_sub(last) >= INTERVAL_MS;
        // Of several threads at once, one wins.
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
        let log_throttle = LogThrottle::new();

        let due: Vec<bool> = [0, 1, 59_999, 60_000, 60_001, 119_999, 120_000]
            .map(|now_ms| log_throttle.is_due(now_ms))
            .to_vec();

        assert_eq!(due, [true, false, false, true, false, false, true]);
    }
}
