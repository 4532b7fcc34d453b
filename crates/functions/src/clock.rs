//! Wall clock time for tokens, and a monotonic clock that fits into an atomic.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// Seconds since 1970.
pub(crate) fn unix_now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds since the first call.
pub(crate) fn millis() -> u64 {
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The time since then.
pub(crate) fn since(then_millis: u64) -> Duration {
    Duration::from_millis(millis().saturating_sub(then_millis))
}
