//! The body limit of a request.
//!
//! It is checked while the body is read, not before, because a service may change it for its own
//! routes ([`BodyLimit`]). Reading beyond it yields the error that axum's extractors turn into a
//! 413. `axum::extract::DefaultBodyLimit` is disabled in favour of this one.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::BoxError;
use bytes::Bytes;
use http_body_util::{Full, Limited};
use hyper::body::{Body, Frame, SizeHint};
use plinth_project::BodyLimit;

/// A request's body under its limit.
pub(crate) struct LimitedBody<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    inner: Option<B>,
    read: u64,
    limit: BodyLimit,
}

impl<B> LimitedBody<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    pub(crate) fn new(inner: B, limit: BodyLimit) -> Self {
        Self {
            inner: Some(inner),
            read: 0,
            limit,
        }
    }

    fn reject(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.limit.mark_exceeded();
        self.inner = None;
        // axum recognises this error type, and only `Limited` can construct it.
        Pin::new(&mut Limited::new(Full::new(Bytes::from_static(b"x")), 0)).poll_frame(cx)
    }
}

impl<B> Body for LimitedBody<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let max_bytes = self.limit.max_bytes();
        let read = self.read;
        let Some(inner) = &mut self.inner else {
            return Poll::Ready(None);
        };
        // A declared length beyond the limit is rejected before anything is read.
        if inner.size_hint().lower().saturating_add(read) > max_bytes {
            return self.reject(cx);
        }
        let frame = ready!(Pin::new(inner).poll_frame(cx));
        let Some(Ok(frame)) = frame else {
            self.inner = None;
            return Poll::Ready(frame.map(|broken| broken.map_err(Into::into)));
        };
        self.read += frame.data_ref().map_or(0, |data| data.len() as u64);
        self.limit.note_activity();
        if self.read > max_bytes {
            return self.reject(cx);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    type Piece = Result<Frame<Bytes>, Infallible>;

    fn pieces(texts: &[&'static str]) -> StreamBody<stream::Iter<std::vec::IntoIter<Piece>>> {
        let frames = texts
            .iter()
            .map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes()))));
        StreamBody::new(stream::iter(frames.collect::<Vec<_>>()))
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_passes() {
        let limit = BodyLimit::new(6);
        let body = LimitedBody::new(pieces(&["abc", "def"]), limit.clone());

        let read = body
            .collect()
            .await
            .expect("with_timeout the limit")
            .to_bytes();

        assert_eq!(read, "abcdef");
        assert!(!limit.is_exceeded());
    }

    #[tokio::test]
    async fn one_byte_more_is_rejected_with_the_error_that_axum_knows() {
        let limit = BodyLimit::new(5);
        let body = LimitedBody::new(pieces(&["abc", "def"]), limit.clone());

        let error = body.collect().await.expect_err("too large");

        assert!(error.is::<http_body_util::LengthLimitError>());
        assert!(limit.is_exceeded());
    }

    #[tokio::test]
    async fn a_declared_length_is_rejected_before_anything_is_read() {
        let limit = BodyLimit::new(2);
        let mut body = LimitedBody::new(Full::new(Bytes::from_static(b"abc")), limit.clone());

        assert!(body.frame().await.expect("a result").is_err());
        assert_eq!(body.read, 0);
        assert!(body.frame().await.is_none());
    }

    #[tokio::test]
    async fn a_limit_can_be_changed_before_reading() {
        let limit = BodyLimit::new(2);
        let body = LimitedBody::new(Full::new(Bytes::from_static(b"abc")), limit.clone());
        limit.lift();

        assert_eq!(body.collect().await.expect("no limit").to_bytes(), "abc");
    }
}
