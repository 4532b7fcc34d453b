//! The current time, and waiting.

use std::{
    panic::Location,
    time::{Duration, Instant},
};

use time::OffsetDateTime;

/// Longer than anything takes, also on a busy machine.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Seconds since 1970.
pub fn now() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}

/// Polls until the condition is true; fails after [`TEST_TIMEOUT`].
#[track_caller]
pub fn until(mut is_true: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    until_some(async move || is_true().await.then_some(()))
}

/// Polls until there is a value; fails after [`TEST_TIMEOUT`].
#[track_caller]
pub fn until_some<T>(mut poll: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(value) = poll().await {
                return value;
            }
            assert!(
                Instant::now() < deadline,
                "{caller}: waited longer than {TEST_TIMEOUT:?}"
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn polling_ends_with_the_first_value() {
        let mut round = 0;
        let value = until_some(async || {
            round += 1;
            (round == 3).then_some(round)
        });
        assert_eq!(value.await, 3);
    }
}
