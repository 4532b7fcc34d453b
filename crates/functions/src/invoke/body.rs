//! The body of an answer, passed on piece by piece.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;

use super::invocation::Invocation;
use crate::{
    config::Limits,
    worker::{Line, Seat},
};

/// Holds the worker's place as long as the answer lasts. Dropped early, it ends the worker's request,
/// too.
pub(super) struct AnswerBody {
    inner: Incoming,
    held: Option<(Line, Seat)>,
    invocation: Option<Invocation>,
    idle: Duration,
    until: Instant,
    /// Until when the next piece must have come.
    due: Instant,
    /// Set once something had to be waited for; most answers come in one piece.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// The worker was silent for too long, or the request has lasted too long.
#[derive(Debug, thiserror::Error)]
#[error("the answer of the function did not go on in time")]
struct Late;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl AnswerBody {
    pub(super) fn new(
        inner: Incoming,
        line: Line,
        seat: Seat,
        invocation: Option<Invocation>,
        limits: &Limits,
        began: Instant,
    ) -> Self {
        let until = began + limits.wall_clock;
        let mut body = Self {
            held: Some((line, seat)),
            invocation,
            idle: limits.request_idle,
            until,
            due: until.min(Instant::now() + limits.request_idle),
            alarm: None,
            inner,
        };
        if body.inner.is_end_stream() {
            body.finish();
        }
        body
    }

    /// The next piece, brought by the connection if it must be.
    fn next_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        // Asking is what tells the connection that it may read on.
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        match &mut self.held {
            Some((line, _)) if frame.is_pending() => {
                line.drive(context);
                Pin::new(&mut self.inner).poll_frame(context)
            }
            _ => frame,
        }
    }

    /// Whether nothing came in time.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let due = self.due.into();
        let new = || Box::pin(tokio::time::sleep_until(due));
        let alarm = self.alarm.get_or_insert_with(new);
        if alarm.deadline() != due {
            alarm.as_mut().reset(due);
        }
        alarm.as_mut().poll(context)
    }

    fn break_off(&mut self) -> BoxError {
        self.held = None;
        Late.into()
    }

    fn finish(&mut self) {
        if let Some((line, seat)) = self.held.take() {
            seat.give_back(line);
        }
        self.invocation = None;
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.next_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let now = Instant::now();
                if now >= self.until {
                    return Poll::Ready(Some(Err(self.break_off())));
                }
                self.due = self.until.min(now + self.idle);
                if self.inner.is_end_stream() {
                    self.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                self.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.held = None;
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Pending => self
                .poll_late(context)
                .map(|()| Some(Err(self.break_off()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
