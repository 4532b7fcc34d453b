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
    alarm: Pin<Box<Sleep>>,
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
        let first = until.min(Instant::now() + limits.request_idle);
        let mut body = Self {
            held: Some((line, seat)),
            invocation,
            idle: limits.request_idle,
            until,
            alarm: Box::pin(tokio::time::sleep_until(first.into())),
            inner,
        };
        if body.inner.is_end_stream() {
            body.finish();
        }
        body
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
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let next = self.until.min(Instant::now() + self.idle);
                self.alarm.as_mut().reset(next.into());
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
            Poll::Pending => match self.alarm.as_mut().poll(context) {
                Poll::Ready(()) => {
                    self.held = None;
                    Poll::Ready(Some(Err(Late.into())))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
