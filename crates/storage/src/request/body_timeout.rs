//! Timeouts of request bodies.
//!
//! The gateway's idle timeout is not enough for files: with a byte now and then a client could keep
//! an upload, its memory and its row in the ledger for ever. So a body must have a minimum rate
//! while we wait for the client, and a maximum duration, after which garbage collection takes its
//! blob for abandoned. Time in which we do not read is not counted.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// Shorter than the gateway's usual idle timeout: the protocols have error codes of their own for
/// it.
const RATE_WINDOW: Duration = Duration::from_secs(45);
/// Bytes that must arrive in each window.
const MIN_BYTES_PER_WINDOW: usize = 1024;

/// The minimum rate and the maximum duration of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyTimeout {
    rate_window: Duration,
    min_bytes_per_window: usize,
    max_duration: Duration,
}

impl BodyTimeout {
    pub(crate) fn new(max_duration: Duration) -> Self {
        Self {
            rate_window: RATE_WINDOW,
            min_bytes_per_window: MIN_BYTES_PER_WINDOW,
            max_duration,
        }
    }

    /// The same body; it fails with [`TooSlow`] where the client is too slow.
    pub(crate) fn apply(self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        let started = Instant::now();
        Body::new(TimedBody {
            body,
            timeout: self,
            deadline: started.checked_add(self.max_duration),
            waited: Duration::ZERO,
            received: 0,
            waiting_since: None,
            timer: None,
        })
    }
}

/// The client has sent less than the minimum rate, or for longer than the maximum duration.
#[derive(Debug, thiserror::Error)]
#[error("the client sends too slowly")]
pub(super) struct TooSlow;

struct TimedBody {
    body: Body,
    timeout: BodyTimeout,
    deadline: Option<Instant>,
    /// How long we have waited for the client in this window, and what has arrived.
    waited: Duration,
    received: usize,
    waiting_since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    fn record(&mut self, bytes: usize) -> Result<(), TooSlow> {
        self.received += bytes;
        if let Some(since) = self.waiting_since.take() {
            self.waited += since.elapsed();
        }
        self.check()
    }

    /// Fails where the client is too slow; starts the next window at the end of this one.
    fn check(&mut self) -> Result<(), TooSlow> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(TooSlow);
        }
        if self.waited >= self.timeout.rate_window {
            if self.received < self.timeout.min_bytes_per_window {
                return Err(TooSlow);
            }
            (self.waited, self.received) = (Duration::ZERO, 0);
        }
        Ok(())
    }

    /// Ready once the client is too slow.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<TooSlow> {
        loop {
            let now = Instant::now();
            let since = self.waiting_since.replace(now).unwrap_or(now);
            self.waited += now - since;
            if let Err(slow) = self.check() {
                return Poll::Ready(slow);
            }
            let end = now + (self.timeout.rate_window - self.waited);
            let end = self.deadline.map_or(end, |deadline| deadline.min(end));
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
            // A timer of an earlier window fires too early, which does no harm; so it need not be
            // reset with every frame.
            if timer.deadline() > end || timer.is_elapsed() {
                timer.as_mut().reset(end);
            }
            std::task::ready!(timer.as_mut().poll(cx));
        }
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                let recorded = this.record(bytes).map_err(axum::BoxError::from);
                Poll::Ready(Some(recorded.map(|()| frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into_inner()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => this.poll_timeout(cx).map(|slow| Some(Err(slow.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::BodyExt as _;
    use tokio::time::sleep;

    use super::*;

    const SHORT: BodyTimeout = BodyTimeout {
        rate_window: Duration::from_millis(400),
        min_bytes_per_window: 100,
        max_duration: Duration::from_secs(60),
    };

    /// `count` frames of that length, each after a delay.
    fn frames(count: usize, length: usize, delay: Duration) -> Body {
        Body::from_stream(stream::unfold(0, move |at| async move {
            if at == count {
                return None;
            }
            // Paused time, as in all tests here.
            sleep(delay).await;
            Some((Ok::<_, Infallible>(Bytes::from(vec![7; length])), at + 1))
        }))
    }

    async fn size(mut body: Body, delay: Duration) -> Result<usize, String> {
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            size += frame.data_ref().map_or(0, Bytes::len);
            sleep(delay).await;
        }
        Ok(size)
    }

    const SLOW: Result<usize, &str> = Err("the client sends too slowly");

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_times_out() {
        let started = Instant::now();
        let silent = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let size = size(SHORT.apply(silent), Duration::ZERO).await;
        assert_eq!(size, SLOW.map_err(str::to_owned));
        assert!(started.elapsed() >= SHORT.rate_window);
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_is_not_enough() {
        let trickle = frames(1000, 1, SHORT.rate_window / 10);
        let size = size(SHORT.apply(trickle), Duration::ZERO).await;
        assert_eq!(size, SLOW.map_err(str::to_owned));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_enough_may_take_many_windows() {
        let steady = frames(15, 100, SHORT.rate_window / 5);
        let size = size(SHORT.apply(steady), Duration::ZERO).await;
        assert_eq!(size, Ok(1500));
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_we_do_not_read_is_not_counted() {
        let quick = frames(6, 1, Duration::ZERO);
        let size = size(SHORT.apply(quick), SHORT.rate_window / 2).await;
        assert_eq!(size, Ok(6));
    }

    #[tokio::test(start_paused = true)]
    async fn no_body_lasts_longer_than_the_maximum() {
        let timeout = BodyTimeout {
            max_duration: SHORT.rate_window / 2,
            ..SHORT
        };
        let steady = frames(1000, 100, SHORT.rate_window / 20);
        let size = size(timeout.apply(steady), Duration::ZERO).await;
        assert_eq!(size, SLOW.map_err(str::to_owned));

        let silent = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let started = Instant::now();
        assert!(timeout.apply(silent).collect().await.is_err());
        assert!(started.elapsed() < SHORT.rate_window);
    }

    #[test]
    fn what_is_known_of_a_body_stays_known() {
        let body = SHORT.apply(Body::from("abc"));
        assert_eq!(body.size_hint().exact(), Some(3));
        assert!(!body.is_end_stream());
        assert!(SHORT.apply(Body::empty()).is_end_stream());
    }
}
