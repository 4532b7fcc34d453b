//! A timeout for the first bytes of a connection, and the permit that bounds open connections.

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

/// Length of the HTTP/2 preface, which decides the protocol; from then on hyper's own timeouts
/// apply.
const OPENING_BYTES: usize = 24;

/// One of a listener's `max_connections`. It is owned by the stream, so that an upgraded connection
/// still counts.
pub(crate) struct ConnectionPermit {
    _permit: OwnedSemaphorePermit,
}

impl ConnectionPermit {
    pub(crate) fn new(permit: OwnedSemaphorePermit) -> Self {
        metrics::connections().increment(1.0);
        Self { _permit: permit }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        metrics::connections().decrement(1.0);
    }
}

/// A stream that fails when its client does not send the opening bytes in time.
pub(crate) struct OpeningTimeout<S> {
    stream: S,
    /// `None` once the protocol is known.
    timer: Option<Pin<Box<Sleep>>>,
    received: usize,
    _permit: ConnectionPermit,
}

impl<S> OpeningTimeout<S> {
    pub(crate) fn new(stream: S, timeout: Duration, permit: ConnectionPermit) -> Self {
        Self {
            stream,
            timer: Some(Box::pin(sleep(timeout))),
            received: 0,
            _permit: permit,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for OpeningTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Some(timer) = &mut self.timer else {
            return poll;
        };
        if poll.is_pending() && timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.received += buffer.filled().len() - before;
        if self.received >= OPENING_BYTES {
            self.timer = None;
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for OpeningTimeout<S> {
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

    async fn with_timeout<S>(stream: S, permits: &Arc<Semaphore>) -> OpeningTimeout<S> {
        let permit = Arc::clone(permits)
            .acquire_owned()
            .await
            .expect("a free permit");
        OpeningTimeout::new(
            stream,
            Duration::from_millis(20),
            ConnectionPermit::new(permit),
        )
    }

    #[tokio::test]
    async fn a_silent_client_times_out_and_frees_its_permit() {
        let permits = Arc::new(Semaphore::new(1));
        let (_silent, stream) = duplex(64);
        let mut stream = with_timeout(stream, &permits).await;
        assert_eq!(permits.available_permits(), 0);

        let error = stream.read_u8().await.expect_err("nothing was sent");

        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(stream);
        assert_eq!(permits.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_few_bytes_do_not_stop_the_clock_but_an_opening_does() {
        let permits = Arc::new(Semaphore::new(1));
        let (mut client, stream) = duplex(64);
        let mut stream = with_timeout(stream, &permits).await;
        client.write_all(b"PRI * HTTP").await.expect("written");
        let mut buffer = [0; 64];
        assert_eq!(stream.read(&mut buffer).await.expect("what was sent"), 10);
        assert!(stream.timer.is_some());

        client
            .write_all(b"/2.0\r\n\r\nSM\r\n\r\n")
            .await
            .expect("written");
        assert_eq!(stream.read(&mut buffer).await.expect("the rest"), 14);

        assert!(stream.timer.is_none());
    }
}
