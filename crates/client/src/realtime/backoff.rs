//! Backoff between connection and join attempts (client contract K14).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::{MaybeSend, MaybeSync};

/// K14: delays before the first attempts; the last one repeats.
pub const RECONNECT_BACKOFF_MS: [u64; 4] = [1000, 2000, 5000, 10_000];

/// Returns the delay before an attempt, counted from 1.
#[derive(Clone)]
pub(super) struct Backoff(Arc<dyn BackoffFn>);

trait BackoffFn: MaybeSend + MaybeSync {
    fn wait(&self, attempt: u32) -> Duration;
}

impl<F: Fn(u32) -> Duration + MaybeSend + MaybeSync> BackoffFn for F {
    fn wait(&self, attempt: u32) -> Duration {
        self(attempt)
    }
}

impl Backoff {
    pub(super) fn new<F>(wait: F) -> Self
    where
        F: Fn(u32) -> Duration + MaybeSend + MaybeSync + 'static,
    {
        Self(Arc::new(wait))
    }

    pub(super) fn wait_ms(&self, attempt: u32) -> i64 {
        i64::try_from(self.0.wait(attempt).as_millis()).unwrap_or(i64::MAX / 2)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new(|attempt| {
            let step = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
            let step = step.min(RECONNECT_BACKOFF_MS.len() - 1);
            Duration::from_millis(RECONNECT_BACKOFF_MS[step])
        })
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ladder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k14_waits_are_1_2_5_and_then_always_10_seconds() {
        let backoff = Backoff::default();
        let waits: Vec<i64> = (1..=6).map(|attempt| backoff.wait_ms(attempt)).collect();

        assert_eq!(waits, [1000, 2000, 5000, 10_000, 10_000, 10_000]);
        assert_eq!(backoff.wait_ms(u32::MAX), 10_000);
    }
}
