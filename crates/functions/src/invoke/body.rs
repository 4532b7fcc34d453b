//! The body of a function's response, streamed chunk by chunk.

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
    worker::{Connection, RequestPermit, ResponseInProgress},
};

/// Holds the worker's permit until the response is complete. Dropped early, it aborts the worker's
/// request.
pub(super) struct ResponseBody {
    inner: Incoming,
    progress: Arc<SharedProgress>,
}

/// The progress of a response. Shared with the worker's monitor: a client that stops reading does not
/// poll for the next chunk, so the deadline cannot be enforced here.
struct SharedProgress(Mutex<Progress>);

enum Progress {
    Streaming(Box<Streaming>),
    /// It was past its deadline, or the connection broke.
    Aborted,
    Complete,
}

/// What a response holds while it is streamed.
struct Streaming {
    connection: Connection,
    permit: RequestPermit,
    /// Logged when it is dropped.
    _invocation: Option<Invocation>,
    idle_timeout: Duration,
    /// When the wall clock limit is reached.
    final_deadline: Instant,
    /// When the next chunk must have come from the worker and gone to the client.
    chunk_deadline: Instant,
}

/// The worker or the client was silent for too long, or the request has reached its wall clock limit.
#[derive(Debug, thiserror::Error)]
#[error("the response of the function was not streamed in time")]
struct ResponseTimeout;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl ResponseBody {
    pub(super) fn new(
        inner: Incoming,
        connection: Connection,
        permit: RequestPermit,
        invocation: Option<Invocation>,
        limits: &Limits,
        began: Instant,
    ) -> Self {
        let final_deadline = began + limits.wall_clock;
        let streaming = Streaming {
            connection,
            permit,
            _invocation: invocation,
            idle_timeout: limits.request_idle,
            final_deadline,
            chunk_deadline: final_deadline.min(Instant::now() + limits.request_idle),
        };
        let progress = if inner.is_end_stream() {
            streaming.finish();
            Arc::new(SharedProgress(Mutex::new(Progress::Complete)))
        } else {
            SharedProgress::begin(streaming)
        };
        Self { inner, progress }
    }
}

impl SharedProgress {
    fn begin(streaming: Streaming) -> Arc<Self> {
        let worker = streaming.permit.worker().clone();
        let progress = Progress::Streaming(Box::new(streaming));
        let progress = Arc::new(Self(Mutex::new(progress)));
        let tracked: Weak<Self> = Arc::downgrade(&progress);
        worker.track_response(tracked);
        progress
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResponseInProgress for SharedProgress {
    fn abort_if_overdue(&self, now: Instant) {
        let mut progress = self.lock();
        if matches!(&*progress, Progress::Streaming(streaming) if now >= streaming.chunk_deadline) {
            *progress = Progress::Aborted;
        }
    }
}

impl Streaming {
    /// The next frame; drives the connection if there is none yet.
    fn poll_frame(
        &mut self,
        inner: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        // Polling the body is what permits the connection to read on.
        let frame = Pin::new(&mut *inner).poll_frame(context);
        if frame.is_pending() {
            self.connection.drive(context);
            return Pin::new(inner).poll_frame(context);
        }
        frame
    }

    /// Releases the connection for the next request.
    fn finish(self) {
        self.permit.return_connection(self.connection);
    }
}

impl Progress {
    fn finish(&mut self) {
        if let Self::Streaming(streaming) = std::mem::replace(self, Self::Complete) {
            streaming.finish();
        }
    }

    fn abort(&mut self, error: impl Into<BoxError>) -> BoxError {
        *self = Self::Aborted;
        error.into()
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { inner, progress } = &mut *self;
        let mut progress = progress.lock();
        let streaming = match &mut *progress {
            Progress::Streaming(streaming) => streaming,
            Progress::Aborted => return Poll::Ready(Some(Err(ResponseTimeout.into()))),
            Progress::Complete => return Poll::Ready(None),
        };
        // When the monitor drops the connection, this poll is woken.
        match streaming.poll_frame(inner, context) {
            Poll::Ready(Some(Ok(frame))) => {
                let now = Instant::now();
                if now >= streaming.final_deadline {
                    return Poll::Ready(Some(Err(progress.abort(ResponseTimeout))));
                }
                let idle_deadline = now + streaming.idle_timeout;
                streaming.chunk_deadline = streaming.final_deadline.min(idle_deadline);
                if inner.is_end_stream() {
                    progress.finish();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(None) => {
                progress.finish();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(progress.abort(error)))),
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
