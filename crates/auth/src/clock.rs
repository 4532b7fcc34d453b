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
pub struct Clock(Kind);

#[derive(Debug, Clone, Default)]
enum Kind {
    #[default]
    OfTheSystem,
    /// Microseconds since 1970.
    OfATest(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that starts now and stands still until it is moved. Only looking at it takes time,
    /// a microsecond, so that what happens later is later.
    pub fn standing() -> Self {
        let now = OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
        Self(Kind::OfATest(Arc::new(AtomicI64::new(now))))
    }

    /// The time now.
    pub fn now(&self) -> OffsetDateTime {
        let nanoseconds = match &self.0 {
            Kind::OfTheSystem => OffsetDateTime::now_utc().unix_timestamp_nanos(),
            Kind::OfATest(time) => i128::from(time.fetch_add(1, Relaxed)) * 1000,
        };
        let whole = nanoseconds - nanoseconds % 1000;
        OffsetDateTime::from_unix_timestamp_nanos(whole).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// Lets time pass for a clock of a test.
    pub fn advance(&self, by: Duration) {
        if let Kind::OfATest(time) = &self.0 {
            let microseconds = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
            time.fetch_add(microseconds, Relaxed);
        }
    }
}
