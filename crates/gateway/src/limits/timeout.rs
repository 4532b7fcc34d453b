//! The timeout until a response begins.

use std::{pin::pin, time::Duration};

use tokio::time::{Instant, sleep_until};

use plinth_project::BodyLimit;

/// Waits for the work, at most `timeout` after the last activity: the request's arrival or the last
/// chunk of its body, so that a long upload is no timeout. `None`: timed out.
pub(crate) async fn with_timeout<F: Future>(
    timeout: Option<Duration>,
    body: &BodyLimit,
    work: F,
) -> Option<F::Output> {
    let Some(timeout) = timeout else {
        return Some(work.await);
    };
    let mut work = pin!(work);
    let mut timer = pin!(sleep_until(Instant::now() + timeout));
    loop {
        tokio::select! {
            biased;
            output = &mut work => return Some(output),
            () = &mut timer => {
                let deadline = Instant::from_std(body.last_activity()) + timeout;
                if deadline <= Instant::now() {
                    return None;
                }
                timer.as_mut().reset(deadline);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn work_that_never_ends_times_out() {
        let limit = BodyLimit::new(1);
        let never = std::future::pending::<()>();

        assert_eq!(with_timeout(Some(TIMEOUT), &limit, never).await, None);
    }

    #[tokio::test]
    async fn finished_work_is_returned() {
        let limit = BodyLimit::new(1);

        assert_eq!(
            with_timeout(Some(TIMEOUT), &limit, async { 7 }).await,
            Some(7)
        );
        assert_eq!(with_timeout(None, &limit, async { 7 }).await, Some(7));
    }
}
