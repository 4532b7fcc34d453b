//! The body of a response being sent: counts its bytes and keeps the request's [`AccessRecord`]
//! alive until the last of them is sent.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{BoxError, body::Body};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::{access::AccessRecord, panics};

/// The body of a response of the edge.
pub struct TrackedBody {
    inner: Body,
    access: Box<AccessRecord>,
}

impl TrackedBody {
    pub(crate) fn new(inner: Body, access: Box<AccessRecord>) -> Self {
        Self { inner, access }
    }
}

impl hyper::body::Body for TrackedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let inner = &mut self.inner;
        // A stream that panics ends this response, not the others on the same connection.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(inner).poll_frame(cx)));
        let frame = match polled {
            Ok(poll) => ready!(poll),
            Err(panic) => {
                self.inner = Body::empty();
                let cause = panics::message(&*panic);
                self.access
                    .log_failure("response aborted: its body stream panicked", cause);
                return Poll::Ready(Some(Err("the stream panicked".into())));
            }
        };
        if let Some(Ok(frame)) = &frame {
            self.access.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
