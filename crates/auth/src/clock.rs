//! The time, which tests may move.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use time::OffsetDateTime;

/// Whole microseconds since that is what Postgres stores: what was written equals what is read.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ahead_seconds: Arc<AtomicI64>,
}

impl Clock {
    /// The time now.
    pub fn now(&self) -> OffsetDateTime {
        let now = OffsetDateTime::now_utc();
        let whole = now.replace_nanosecond(now.microsecond() * 1000);
        whole.unwrap_or(now) + time::Duration::seconds(self.ahead_seconds.load(Relaxed))
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let seconds = i64::try_from(by.as_secs()).unwrap_or(i64::MAX);
        self.ahead_seconds.fetch_add(seconds, Relaxed);
    }
}
