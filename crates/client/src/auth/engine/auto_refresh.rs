//! Background refresh (client contract S19–S23, K1, K2).

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use super::Engine;
use crate::runtime;
use crate::session::Session;

/// K1: interval of the checks.
pub const TICK_MS: i64 = 30_000;
/// K2: it is refreshed when this many intervals or fewer remain.
pub const REFRESH_THRESHOLD_TICKS: i64 = 3;

/// Refreshes the session in the background until dropped.
#[must_use = "dropping it stops the automatic refresh"]
#[derive(Debug)]
pub struct AutoRefresh {
    engine: Weak<Engine>,
    /// The start it belongs to: a replaced guard stops nothing.
    start: u64,
}

impl Drop for AutoRefresh {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.upgrade()
            && engine.ticker_starts.load(Ordering::Relaxed) == self.start
        {
            engine.stop_ticker();
        }
    }
}

impl Engine {
    /// From here on the application controls the background refresh.
    pub(crate) fn start_auto_refresh(self: &Arc<Self>) -> AutoRefresh {
        self.leave_to_caller();
        self.start_ticker();
        AutoRefresh {
            engine: Arc::downgrade(self),
            start: self.ticker_starts.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn stop_auto_refresh(&self) {
        self.leave_to_caller();
        self.stop_ticker();
    }

    /// Replaces an earlier task. It holds the engine weakly, so that it does not outlive the client.
    pub(super) fn start_ticker(self: &Arc<Self>) {
        self.ticker_starts.fetch_add(1, Ordering::Relaxed);
        let (engine, clock) = (Arc::downgrade(self), self.api.clock().clone());
        let task = runtime::spawn(async move {
            loop {
                let Some(engine) = engine.upgrade() else {
                    return;
                };
                engine.ready().await;
                engine.tick().await;
                drop(engine);
                clock
                    .sleep(Duration::from_millis(TICK_MS.unsigned_abs()))
                    .await;
            }
        });
        *self
            .auto_refresh
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = task;
    }

    pub(super) fn stop_ticker(&self) {
        self.auto_refresh
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// Checks the session once. Failures are logged and retried at the next tick.
    pub(crate) async fn tick(self: &Arc<Self>) {
        if self.is_refreshing() {
            return;
        }
        let done = match self.load().await {
            Ok(Some(session)) if is_due(&session, self.now_ms()) => {
                self.refresh(session.refresh_token()).await.map(drop)
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            tracing::warn!(
                error = error.for_logs(),
                "the session cannot be refreshed for now"
            );
        }
    }
}

/// Whether this session is due.
fn is_due(session: &Session, now_ms: i64) -> bool {
    let has_end = session.expires_at().is_some_and(|at| at != 0);
    let remaining = session.remaining_ms(now_ms).filter(|_| has_end);
    remaining.is_some_and(|ms| ms.div_euclid(TICK_MS) <= REFRESH_THRESHOLD_TICKS)
        && !session.refresh_token().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expiring_at(expires_at: &str) -> Session {
        let text =
            format!(r#"{{"access_token":"a","refresh_token":"r","expires_at":{expires_at}}}"#);
        Session::from_json(&text).unwrap()
    }

    #[test]
    fn k1_k2_a_tick_refreshes_below_120_s() {
        assert_eq!((TICK_MS, REFRESH_THRESHOLD_TICKS), (30_000, 3));
        let session = expiring_at("1700000120");

        assert!(!is_due(&session, 1_700_000_000_000));
        assert!(is_due(&session, 1_700_000_000_001));
        assert!(!is_due(&session, 1_699_999_999_000));
        assert!(is_due(&session, 1_700_000_500_000));
    }

    #[test]
    fn sessions_without_an_end_are_left_alone() {
        assert!(!is_due(&expiring_at("null"), i64::MAX));
        assert!(!is_due(&expiring_at("0"), i64::MAX));
    }

    proptest::proptest! {
        #[test]
        fn a_tick_is_due_where_the_arithmetic_says(left_ms in -500_000i64..500_000) {
            let is_due = is_due(&expiring_at("1700000000"), 1_700_000_000_000 - left_ms);

            assert_eq!(is_due, left_ms < 120_000);
        }
    }
}
