//! Keeps the edge's request timeout from ending a deployment, which fetches packages and may take
//! longer than the minute that a request may be without activity.

use std::{pin::pin, time::Duration};

use plinth_project::BodyLimit;

/// Much shorter than any request timeout.
const ACTIVITY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the work and meanwhile reports activity to the edge's request timeout.
pub(super) async fn keep_alive<F: Future>(activity: Option<BodyLimit>, work: F) -> F::Output {
    keep_alive_every(ACTIVITY_INTERVAL, activity, work).await
}

async fn keep_alive_every<F: Future>(
    interval: Duration,
    activity: Option<BodyLimit>,
    work: F,
) -> F::Output {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            () = tokio::time::sleep(interval) => {
                if let Some(activity) = &activity {
                    activity.note_activity();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn activity_is_reported_until_the_work_is_done() {
        let activity = BodyLimit::new(1);
        let before = activity.last_activity();

        // Twenty times the interval.
        let long = tokio::time::sleep(Duration::from_millis(100));
        keep_alive_every(Duration::from_millis(5), Some(activity.clone()), long).await;

        assert!(activity.last_activity() >= before + Duration::from_millis(50));
    }
}
