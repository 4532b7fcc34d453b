//! Streamed bodies, so that files of any size need little memory.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::stream::try_unfold;
use futures_util::{StreamExt, TryStreamExt};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::{Http, Outgoing, TransportError};
use crate::runtime::BoxStream;

/// The chunks of a response's body.
pub(crate) type Pieces = BoxStream<'static, Result<Bytes, TransportError>>;

/// A response whose body is not read yet.
pub(crate) struct StreamedResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Pieces,
}

/// A streamed request body. It fails if its length differs from the announced one, because the receiver would
/// take the wrong bytes for the whole.
pub(crate) struct StreamedBody {
    /// Never locked; only makes the stream `Sync`, which transports require.
    pieces: Mutex<BoxStream<'static, io::Result<Bytes>>>,
    missing: Option<u64>,
    /// Transports stop reading at the announced length, so the last chunk is held back until the stream has
    /// ended.
    last: Option<Bytes>,
    failure: BodyFailure,
}

/// Why a body could not be read.
#[derive(Clone, Default)]
pub(crate) struct BodyFailure(Arc<Mutex<Option<String>>>);

impl Http {
    /// Sends a request with a streamed body or response. The timeout applies to each wait: for the response to
    /// begin, and for each chunk.
    pub(crate) async fn stream(
        &self,
        request: Outgoing,
        body: Option<StreamedBody>,
    ) -> Result<StreamedResponse, TransportError> {
        let (limit, request) = (request.timeout, self.traced(request));
        let opening = self.transport.stream(request, body);
        let mut response = self.within(limit, opening).await??;
        self.record_clock_skew(&response.headers);
        if let Some(limit) = limit {
            let state = (self.clone(), response.body);
            response.body = Box::pin(try_unfold(state, move |(http, mut body)| async move {
                let piece = http.within(Some(limit), body.next()).await?;
                Ok(piece.transpose()?.map(|piece| (piece, (http, body))))
            }));
        }
        Ok(response)
    }
}

impl StreamedResponse {
    /// Reads a whole body up to this many bytes.
    pub(crate) async fn collect(
        mut self,
        max_bytes: usize,
    ) -> Result<super::HttpResponse, TransportError> {
        let mut body = BytesMut::new();
        while let Some(piece) = self.body.try_next().await? {
            if body.len() + piece.len() > max_bytes {
                return Err(super::too_large(max_bytes));
            }
            body.extend_from_slice(&piece);
        }
        Ok(super::HttpResponse {
            status: self.status,
            headers: self.headers,
            body: body.freeze(),
        })
    }
}

impl StreamedBody {
    pub(crate) fn new(pieces: BoxStream<'static, io::Result<Bytes>>, length: Option<u64>) -> Self {
        Self {
            pieces: Mutex::new(pieces),
            missing: length,
            last: None,
            failure: BodyFailure::default(),
        }
    }

    /// The body's own error, to be checked when sending failed.
    pub(crate) fn failure(&self) -> BodyFailure {
        self.failure.clone()
    }

    /// Reads the whole body, for transports without streaming.
    pub(crate) async fn collect(self) -> Result<Bytes, TransportError> {
        let body = http_body_util::BodyExt::collect(self).await;
        body.map(http_body_util::Collected::to_bytes)
            .map_err(|error| TransportError::new(error.to_string()))
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            let pieces = self
                .pieces
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            let Some(piece) = ready!(pieces.poll_next_unpin(context)?) else {
                return Poll::Ready(match self.missing {
                    Some(missing) if missing > 0 => Some(Err(wrong_length("shorter"))),
                    _ => self.last.take().map(Ok),
                });
            };
            let Some(missing) = &mut self.missing else {
                return Poll::Ready(Some(Ok(piece)));
            };
            let length = piece.len() as u64;
            if length > *missing {
                return Poll::Ready(Some(Err(wrong_length("longer"))));
            }
            *missing -= length;
            if length == 0 {
                continue;
            }
            if *missing > 0 {
                return Poll::Ready(Some(Ok(piece)));
            }
            self.last = Some(piece);
        }
    }
}

impl Body for StreamedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let piece = ready!(self.poll_piece(context));
        if let Some(Err(error)) = &piece {
            self.failure.note(error);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.last.as_ref().map_or(0, |piece| piece.len() as u64);
        match self.missing {
            Some(missing) => SizeHint::with_exact(missing + held),
            None => SizeHint::default(),
        }
    }
}

impl BodyFailure {
    pub(crate) fn take(&self) -> Option<String> {
        self.slot().take()
    }

    fn note(&self, error: &io::Error) {
        *self.slot() = Some(error.to_string());
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wrong_length(how: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the body is {how} than its announced length"),
    )
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    async fn sent(pieces: &[&'static str], length: Option<u64>) -> Result<Bytes, String> {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::from(*piece))).collect();
        let body = StreamedBody::new(Box::pin(stream::iter(pieces)), length);
        body.collect().await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_body_keeps_to_the_length_that_was_announced() {
        assert_eq!(sent(&["ab", "", "c"], Some(3)).await.unwrap(), "abc");
        assert_eq!(sent(&["ab", "c"], None).await.unwrap(), "abc");
        assert_eq!(sent(&[], Some(0)).await.unwrap(), "");
        assert!(
            sent(&["ab"], Some(3))
                .await
                .unwrap_err()
                .contains("shorter")
        );
        assert!(
            sent(&["ab", "cd"], Some(3))
                .await
                .unwrap_err()
                .contains("longer")
        );
        // The bytes fit, and then there are more.
        assert!(
            sent(&["abc", "d"], Some(3))
                .await
                .unwrap_err()
                .contains("longer")
        );
    }

    #[tokio::test]
    async fn what_is_left_to_send_is_known_at_every_moment() {
        let pieces = stream::iter([Ok(Bytes::from("ab")), Ok(Bytes::from("c"))]);
        let mut body = StreamedBody::new(Box::pin(pieces), Some(3));
        assert_eq!(body.size_hint().exact(), Some(3));

        let mut left = Vec::new();
        while http_body_util::BodyExt::frame(&mut body).await.is_some() {
            left.push(body.size_hint().exact());
        }

        assert_eq!(left, [Some(1), Some(0)]);
    }
}
