//! The size of a request's body.
//!
//! The limit is looked at while the body is read, not before: a service may change it for its own
//! routes ([`BodyLimit`]). Whoever reads too far gets the same error that axum's extractors turn
//! into a 413. `axum::extract::DefaultBodyLimit` is switched off, this one counts.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::BoxError;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Frame, SizeHint};
use plinth_project::BodyLimit;

/// How much of a body that was refused on its way is still read and thrown away. A client that is
/// still sending when the connection closes may never see the answer.
const DRAIN_BYTES: u64 = 16 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(5);

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

    fn throw_away(&mut self) {
        if let Some(rest) = self.inner.take()
            && !rest.is_end_stream()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(drain(rest));
        }
    }

    fn refuse(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.limit.mark_exceeded();
        self.throw_away();
        // The error's type cannot be made from outside, and it is the one that axum knows.
        Pin::new(&mut Limited::new(Full::new(Bytes::from_static(b"x")), 0)).poll_frame(cx)
    }
}

impl<B> Drop for LimitedBody<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    /// Whoever read it had enough. Nobody who waits to be asked for a body is asked for it now:
    /// one of which nothing was read stays where it is.
    fn drop(&mut self) {
        if self.read > 0 {
            self.throw_away();
        }
    }
}

async fn drain<B: Body<Data = Bytes> + Unpin>(mut rest: B) {
    let read = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = rest.frame().await {
            drained += frame.data_ref().map_or(0, |data| data.len() as u64);
            if drained > DRAIN_BYTES {
                break;
            }
        }
    };
    // Too much or too slow: the connection closes, which is all that can be done then.
    let _ = tokio::time::timeout(DRAIN_TIME, read).await;
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
        // The declared length is enough to refuse a body of which nothing has been read.
        if inner.size_hint().lower().saturating_add(read) > max_bytes {
            return self.refuse(cx);
        }
        let frame = ready!(Pin::new(inner).poll_frame(cx));
        let Some(Ok(frame)) = frame else {
            self.inner = None;
            return Poll::Ready(frame.map(|broken| broken.map_err(Into::into)));
        };
        self.read += frame.data_ref().map_or(0, |data| data.len() as u64);
        self.limit.note_activity();
        if self.read > max_bytes {
            return self.refuse(cx);
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
    use http_body_util::StreamBody;
    use tokio::sync::mpsc;

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

        let read = body.collect().await.expect("within the limit").to_bytes();

        assert_eq!(read, "abcdef");
        assert!(!limit.is_exceeded());
    }

    #[tokio::test]
    async fn one_byte_more_is_refused_with_the_error_that_axum_knows() {
        let limit = BodyLimit::new(5);
        let body = LimitedBody::new(pieces(&["abc", "def"]), limit.clone());

        let error = body.collect().await.expect_err("too large");

        assert!(error.is::<http_body_util::LengthLimitError>());
        assert!(limit.is_exceeded());
    }

    #[tokio::test]
    async fn a_declared_length_is_refused_before_anything_is_read() {
        let limit = BodyLimit::new(2);
        let mut body = LimitedBody::new(Full::new(Bytes::from_static(b"abc")), limit.clone());

        assert!(body.frame().await.expect("an answer").is_err());
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

    /// A body whose pieces somebody sends, one at a time.
    fn sent() -> (
        mpsc::Sender<&'static str>,
        impl Body<Data = Bytes, Error = Infallible> + Unpin,
    ) {
        let (sender, receiver) = mpsc::channel(1);
        let pieces = stream::unfold(receiver, async |mut receiver| {
            let piece: &str = receiver.recv().await?;
            let frame = Frame::data(Bytes::from_static(piece.as_bytes()));
            Some((Piece::Ok(frame), receiver))
        });
        (sender, StreamBody::new(Box::pin(pieces)))
    }

    #[tokio::test]
    async fn what_nobody_reads_to_its_end_is_thrown_away() {
        let (sender, body) = sent();
        let mut body = LimitedBody::new(body, BodyLimit::new(1000));
        sender.send("abc").await.expect("taken");
        body.frame().await.expect("a piece").expect("whole");

        drop(body);

        for _ in 0..5 {
            sender.send("def").await.expect("somebody reads on");
        }
    }

    #[tokio::test]
    async fn what_nobody_began_to_read_is_not_asked_for() {
        let (sender, body) = sent();
        drop(LimitedBody::new(body, BodyLimit::new(1000)));

        assert!(sender.send("abc").await.is_err());
    }
}
