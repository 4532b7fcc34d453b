//! Work that takes as long as somebody else does: sources import packages, which are fetched when
//! they are deployed. The edge gives up on requests that show no sign of life for a minute.

use std::{pin::pin, time::Duration};

use plinth_project::BodyLimit;

/// More often than any edge gives up.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Does the work, and tells the edge meanwhile that it goes on.
pub(super) async fn at_work<F: Future>(edge: Option<BodyLimit>, work: F) -> F::Output {
    signing(edge, SIGN_OF_LIFE, work).await
}

async fn signing<F: Future>(edge: Option<BodyLimit>, every: Duration, work: F) -> F::Output {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            () = tokio::time::sleep(every) => {
                if let Some(edge) = &edge {
                    edge.note_activity();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn signs_of_life_are_given_until_the_work_is_done() {
        let edge = BodyLimit::new(1);
        let before = edge.last_activity();

        let long = tokio::time::sleep(Duration::from_millis(100));
        signing(Some(edge.clone()), Duration::from_millis(5), long).await;

        assert!(edge.last_activity() >= before + Duration::from_millis(50));
    }
}
