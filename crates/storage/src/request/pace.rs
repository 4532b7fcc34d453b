//! How slowly a client may send.
//!
//! The edge gives up a request whose body stands still. That is not enough for files: a byte now and
//! then would keep an upload, its memory and its place in the ledger for ever. So as long as we wait
//! for the client, it must send a little in every while; and no body takes longer than the collector
//! of bytes believes. Time in which we do not ask for more is ours and not counted.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::{Code, StorageError};

/// Shorter than the usual patience of the edge: the protocols have words of their own for this.
const WINDOW: Duration = Duration::from_secs(45);
/// So many bytes must come in each.
const LEAST: usize = 1024;

/// The slowest that a body may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    window: Duration,
    least: usize,
    longest: Duration,
}

impl Pace {
    /// For bodies that take no longer than that.
    pub(crate) fn of(longest: Duration) -> Self {
        Self {
            window: WINDOW,
            least: LEAST,
            longest,
        }
    }

    /// The same body; it fails where the client is too slow.
    pub(crate) fn keep(self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        let begun = Instant::now();
        Body::new(Paced {
            body,
            pace: self,
            end: begun.checked_add(self.longest),
            waited: Duration::ZERO,
            taken: 0,
            waiting_since: None,
            alarm: None,
        })
    }
}

/// The client sends so little that it may as well send nothing.
#[derive(Debug, thiserror::Error)]
#[error("the client sends too slowly")]
struct TooSlow;

/// What is wrong with a body that broke off. What is said of a slow client is what S3 says.
pub(crate) fn broken(error: axum::Error) -> StorageError {
    let error = error.into_inner();
    match error.is::<TooSlow>() {
        true => {
            let message = "Your socket connection to the server was not read from or written to \
                           within the timeout period. Idle connections will be closed.";
            StorageError::new(Code::RequestTimeout, 400, message)
        }
        false => super::aborted(error),
    }
}

struct Paced {
    body: Body,
    pace: Pace,
    /// No body lasts until then.
    end: Option<Instant>,
    /// How long the client was waited for in this window, and what came.
    waited: Duration,
    taken: usize,
    waiting_since: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    /// Something has come.
    fn take(&mut self, bytes: usize) -> Result<(), TooSlow> {
        self.taken += bytes;
        if let Some(since) = self.waiting_since.take() {
            self.waited += since.elapsed();
        }
        self.judge()
    }

    /// Whether it may go on; begins the next window where this one is over.
    fn judge(&mut self) -> Result<(), TooSlow> {
        let now = Instant::now();
        if self.end.is_some_and(|end| now >= end) {
            return Err(TooSlow);
        }
        if self.waited >= self.pace.window {
            if self.taken < self.pace.least {
                return Err(TooSlow);
            }
            (self.waited, self.taken) = (Duration::ZERO, 0);
        }
        Ok(())
    }

    /// Waits for the client, as long as it may be waited for.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<TooSlow> {
        loop {
            let now = Instant::now();
            let since = self.waiting_since.replace(now).unwrap_or(now);
            self.waited += now - since;
            if let Err(slow) = self.judge() {
                return Poll::Ready(slow);
            }
            let over = now + (self.pace.window - self.waited);
            let over = self.end.map_or(over, |end| end.min(over));
            let alarm = self
                .alarm
                .get_or_insert_with(|| Box::pin(sleep_until(over)));
            // One that was set for an earlier window rings too early, which does no harm; so it
            // need not be set with every piece.
            if alarm.deadline() > over || alarm.is_elapsed() {
                alarm.as_mut().reset(over);
            }
            std::task::ready!(alarm.as_mut().poll(cx));
        }
    }
}

impl HttpBody for Paced {
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
                let taken = this.take(bytes).map_err(axum::BoxError::from);
                Poll::Ready(Some(taken.map(|()| frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into_inner()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => this.wait(cx).map(|slow| Some(Err(slow.into()))),
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

    const BRIEF: Pace = Pace {
        window: Duration::from_millis(400),
        least: 100,
        longest: Duration::from_secs(60),
    };

    /// So many pieces of that length, each after a pause.
    fn pieces(count: usize, length: usize, pause: Duration) -> Body {
        Body::from_stream(stream::unfold(0, move |at| async move {
            if at == count {
                return None;
            }
            sleep(pause).await;
            Some((Ok::<_, Infallible>(Bytes::from(vec![7; length])), at + 1))
        }))
    }

    async fn size(mut body: Body, pause: Duration) -> Result<usize, String> {
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| broken(error).code().name().to_owned())?;
            size += frame.data_ref().map_or(0, Bytes::len);
            sleep(pause).await;
        }
        Ok(size)
    }

    const SLOW: Result<usize, &str> = Err("RequestTimeout");

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_is_given_up() {
        let begun = Instant::now();
        let silent = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let size = size(BRIEF.keep(silent), Duration::ZERO).await;
        assert_eq!(size, SLOW.map_err(str::to_owned));
        assert!(begun.elapsed() >= BRIEF.window);
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_is_not_enough() {
        let trickle = pieces(1000, 1, BRIEF.window / 10);
        let size = size(BRIEF.keep(trickle), Duration::ZERO).await;
        assert_eq!(size, SLOW.map_err(str::to_owned));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_sends_enough_may_take_many_windows() {
        let steady = pieces(15, 100, BRIEF.window / 5);
        let size = size(BRIEF.keep(steady), Duration::ZERO).await;
        assert_eq!(size, Ok(1500));
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_we_take_is_not_the_clients() {
        let quick = pieces(6, 1, Duration::ZERO);
        let size = size(BRIEF.keep(quick), BRIEF.window / 2).await;
        assert_eq!(size, Ok(6));
    }

    #[tokio::test(start_paused = true)]
    async fn no_body_lasts_longer_than_the_longest() {
        let pace = Pace {
            longest: BRIEF.window / 2,
            ..BRIEF
        };
        let steady = pieces(1000, 100, BRIEF.window / 20);
        let size = size(pace.keep(steady), Duration::ZERO).await;
        assert_eq!(size, SLOW.map_err(str::to_owned));

        let silent = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let begun = Instant::now();
        assert!(pace.keep(silent).collect().await.is_err());
        assert!(begun.elapsed() < BRIEF.window);
    }

    #[test]
    fn what_is_known_of_a_body_stays_known() {
        let body = BRIEF.keep(Body::from("abc"));
        assert_eq!(body.size_hint().exact(), Some(3));
        assert!(!body.is_end_stream());
        assert!(BRIEF.keep(Body::empty()).is_end_stream());
    }
}
