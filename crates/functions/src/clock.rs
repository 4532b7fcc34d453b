//! The time as tokens and idle workers count it.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

/// Seconds since 1970.
pub(crate) fn unix_now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}

static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Milliseconds since the first question, for atomics.
pub(crate) fn millis() -> u64 {
    u64::try_from(BEGAN.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// How long ago that was.
pub(crate) fn since(millis_then: u64) -> Duration {
    Duration::from_millis(millis().saturating_sub(millis_then))
}
