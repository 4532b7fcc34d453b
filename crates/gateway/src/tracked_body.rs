//! The body of an answer on its way out: counts its bytes and keeps the request's [`Access`]
//! alive until the last of them is sent.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{BoxError, body::Body};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::{access::Access, panics};

/// The body of an answer from the edge.
pub struct TrackedBody {
    inner: Body,
    access: Box<Access>,
}

impl TrackedBody {
    pub(crate) fn new(inner: Body, access: Box<Access>) -> Self {
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
        // A stream that panics ends this answer, not the other ones on the same connection.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(inner).poll_frame(cx)));
        let frame = match polled {
            Ok(poll) => ready!(poll),
            Err(panic) => {
                self.inner = Body::empty();
                let cause = panics::describe(&*panic);
                self.access
                    .fault("an answer broke off because its stream panicked", cause);
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
