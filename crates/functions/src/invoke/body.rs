//! The body of an answer, passed on piece by piece.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::invocation::Invocation;
use crate::{
    config::Limits,
    worker::{Answering, Line, Seat},
};

/// Holds the worker's place as long as the answer lasts. Dropped early, it ends the worker's request,
/// too.
pub(super) struct AnswerBody {
    inner: Incoming,
    passage: Arc<Passage>,
}

/// How far the answer is. The worker's monitor looks at it, too: a client that does not read on does
/// not ask for the next piece, and so cannot be told here that the time is over.
struct Passage(Mutex<Progress>);

enum Progress {
    Going(Box<Held>),
    /// The time was over.
    BrokenOff,
    Through,
}

/// What an answer holds while it lasts.
struct Held {
    line: Line,
    seat: Seat,
    /// Written down when the answer has ended.
    _invocation: Option<Invocation>,
    idle: Duration,
    until: Instant,
    /// Until when the next piece must have come and gone.
    due: Instant,
}

/// The worker or the client was silent for too long, or the request has lasted too long.
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
        let held = Held {
            line,
            seat,
            _invocation: invocation,
            idle: limits.request_idle,
            until,
            due: until.min(Instant::now() + limits.request_idle),
        };
        let passage = match inner.is_end_stream() {
            true => {
                held.finish();
                Arc::new(Passage(Mutex::new(Progress::Through)))
            }
            false => Passage::begin(held),
        };
        Self { inner, passage }
    }
}

impl Passage {
    fn begin(held: Held) -> Arc<Self> {
        let worker = held.seat.worker().clone();
        let passage = Arc::new(Self(Mutex::new(Progress::Going(Box::new(held)))));
        let watched: Weak<Self> = Arc::downgrade(&passage);
        worker.watch(watched);
        passage
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answering for Passage {
    fn look_at_time(&self, now: Instant) {
        let mut progress = self.progress();
        if matches!(&*progress, Progress::Going(held) if now >= held.due) {
            *progress = Progress::BrokenOff;
        }
    }
}

impl Held {
    /// The next piece, brought by the connection if it must be.
    fn next_frame(
        &mut self,
        inner: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        // Asking is what tells the connection that it may read on.
        let frame = Pin::new(&mut *inner).poll_frame(context);
        if frame.is_pending() {
            self.line.drive(context);
            return Pin::new(inner).poll_frame(context);
        }
        frame
    }

    /// The worker may have the next request.
    fn finish(self) {
        self.seat.give_back(self.line);
    }
}

impl Progress {
    fn finish(&mut self) {
        if let Self::Going(held) = std::mem::replace(self, Self::Through) {
            held.finish();
        }
    }

    fn break_off(&mut self, error: impl Into<BoxError>) -> BoxError {
        *self = Self::BrokenOff;
        error.into()
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { inner, passage } = &mut *self;
        let mut progress = passage.progress();
        let held = match &mut *progress {
            Progress::Going(held) => held,
            Progress::BrokenOff => return Poll::Ready(Some(Err(Late.into()))),
            Progress::Through => return Poll::Ready(None),
        };
        // Where the connection is dropped for the time, this is what is woken.
        match held.next_frame(inner, context) {
            Poll::Ready(Some(Ok(frame))) => {
                let now = Instant::now();
                if now >= held.until {
                    return Poll::Ready(Some(Err(progress.break_off(Late))));
                }
                held.due = held.until.min(now + held.idle);
                if inner.is_end_stream() {
                    progress.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                progress.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(progress.break_off(error)))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
