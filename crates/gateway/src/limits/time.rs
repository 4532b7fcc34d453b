//! The time until an answer begins.

use std::{pin::pin, time::Duration};

use tokio::time::{Instant, sleep_until};

use plinth_project::BodyLimit;

/// Waits for the work, but not longer than `patience` after the last sign of life: the request
/// itself, or a piece of its body. A long upload is thus no slow answer. `None`: time is up.
pub(crate) async fn within<F: Future>(
    patience: Option<Duration>,
    body: &BodyLimit,
    work: F,
) -> Option<F::Output> {
    let Some(patience) = patience else {
        return Some(work.await);
    };
    let mut work = pin!(work);
    let mut alarm = pin!(sleep_until(Instant::now() + patience));
    loop {
        tokio::select! {
            biased;
            output = &mut work => return Some(output),
            () = &mut alarm => {
                let deadline = Instant::from_std(body.last_activity()) + patience;
                if deadline <= Instant::now() {
                    return None;
                }
                alarm.as_mut().reset(deadline);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLINK: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn work_that_never_ends_is_given_up() {
        let limit = BodyLimit::new(1);
        let never = std::future::pending::<()>();

        assert_eq!(within(Some(BLINK), &limit, never).await, None);
    }

    #[tokio::test]
    async fn finished_work_is_handed_over() {
        let limit = BodyLimit::new(1);

        assert_eq!(within(Some(BLINK), &limit, async { 7 }).await, Some(7));
        assert_eq!(within(None, &limit, async { 7 }).await, Some(7));
    }
}
