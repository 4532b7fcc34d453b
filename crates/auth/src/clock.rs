//! The clock of the service, which tests can advance.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use time::OffsetDateTime;

/// Counts in whole microseconds, like PostgreSQL, so that a stored time equals the one that is read
/// back.
#[derive(Debug, Clone, Default)]
pub struct Clock(Kind);

#[derive(Debug, Clone, Default)]
enum Kind {
    #[default]
    System,
    /// Microseconds since 1970.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock for tests: it starts at the current time and stands still until it is advanced. Each
    /// reading adds a microsecond, so that times are distinct.
    pub fn manual() -> Self {
        let now = OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
        Self(Kind::Manual(Arc::new(AtomicI64::new(now))))
    }

    /// The time now.
    pub fn now(&self) -> OffsetDateTime {
        let nanoseconds = match &self.0 {
            Kind::System => OffsetDateTime::now_utc().unix_timestamp_nanos(),
            Kind::Manual(time) => i128::from(time.fetch_add(1, Relaxed)) * 1000,
        };
        let whole = nanoseconds - nanoseconds % 1000;
        OffsetDateTime::from_unix_timestamp_nanos(whole).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// The time of a manual clock; `None` where the system's is used.
    pub(crate) fn manual_time(&self) -> Option<OffsetDateTime> {
        match &self.0 {
            Kind::System => None,
            Kind::Manual(_) => Some(self.now()),
        }
    }

    /// Advances a manual clock.
    pub fn advance(&self, by: Duration) {
        if let Kind::Manual(time) = &self.0 {
            let microseconds = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
            time.fetch_add(microseconds, Relaxed);
        }
    }
}
