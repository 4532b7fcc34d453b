//! A connection that waits for its first bytes only so long, and frees its place when it ends.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::OwnedSemaphorePermit,
    time::{Sleep, sleep},
};

use crate::metrics;

/// As long as HTTP/2's preface, by which the protocol is told; from then on the protocol has its
/// own timeouts.
const OPENING_BYTES: usize = 24;

/// One of the places that a listener has. It travels with the stream itself, so that upgraded
/// connections keep theirs.
pub(crate) struct Seat {
    _permit: OwnedSemaphorePermit,
}

impl Seat {
    pub(crate) fn new(permit: OwnedSemaphorePermit) -> Self {
        metrics::connections().increment(1.0);
        Self { _permit: permit }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        metrics::connections().decrement(1.0);
    }
}

/// A stream that fails when its client says nothing at first.
pub(crate) struct Impatient<S> {
    stream: S,
    /// Until the protocol is known.
    alarm: Option<Pin<Box<Sleep>>>,
    received: usize,
    _seat: Seat,
}

impl<S> Impatient<S> {
    pub(crate) fn new(stream: S, patience: Duration, seat: Seat) -> Self {
        Self {
            stream,
            alarm: Some(Box::pin(sleep(patience))),
            received: 0,
            _seat: seat,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(alarm) = &mut self.alarm else {
            return poll;
        };
        if poll.is_pending() && alarm.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.received += buffer.filled().len() - before;
        if self.received >= OPENING_BYTES {
            self.alarm = None;
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        sync::Semaphore,
    };

    use super::*;

    async fn impatient<S>(stream: S, seats: &Arc<Semaphore>) -> Impatient<S> {
        let permit = Arc::clone(seats)
            .acquire_owned()
            .await
            .expect("a free seat");
        Impatient::new(stream, Duration::from_millis(20), Seat::new(permit))
    }

    #[tokio::test]
    async fn silence_at_first_is_an_error_and_frees_the_place() {
        let seats = Arc::new(Semaphore::new(1));
        let (_silent, stream) = duplex(64);
        let mut stream = impatient(stream, &seats).await;
        assert_eq!(seats.available_permits(), 0);

        let error = stream.read_u8().await.expect_err("nobody spoke");

        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(stream);
        assert_eq!(seats.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_few_bytes_do_not_stop_the_clock_but_an_opening_does() {
        let seats = Arc::new(Semaphore::new(1));
        let (mut client, stream) = duplex(64);
        let mut stream = impatient(stream, &seats).await;
        client.write_all(b"PRI * HTTP").await.expect("written");
        let mut buffer = [0; 64];
        assert_eq!(stream.read(&mut buffer).await.expect("what was sent"), 10);
        assert!(stream.alarm.is_some());

        client
            .write_all(b"/2.0\r\n\r\nSM\r\n\r\n")
            .await
            .expect("written");
        assert_eq!(stream.read(&mut buffer).await.expect("the rest"), 14);

        assert!(stream.alarm.is_none());
    }
}
