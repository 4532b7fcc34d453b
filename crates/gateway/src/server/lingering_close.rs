//! Lingering close: after a response that was sent before the whole request body arrived, input is
//! read and discarded for a while.
//!
//! Closing a socket with unread input makes the kernel send a reset, and a client that sends
//! everything before it reads would lose the response. The reading is a task of its own, which
//! nothing waits for.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{Request, Version};
use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    runtime::Handle,
    time::timeout,
};

/// How long input is discarded at most.
const MAX_LINGER: Duration = Duration::from_secs(15);

/// The connection is closed when the client sends nothing for so long.
const LINGER_IDLE_TIMEOUT: Duration = Duration::from_secs(2);

const READ_BUFFER_BYTES: usize = 16 << 10;

/// Flag of a connection: the last request's body was not read to its end.
#[derive(Clone, Default)]
pub(crate) struct UnreadBody(Arc<AtomicBool>);

impl UnreadBody {
    /// Wraps the request's body so that dropping it before its end sets the flag.
    pub(crate) fn watch<B: Body + Unpin>(&self, request: Request<B>) -> Request<WatchedBody<B>> {
        // With HTTP/2 only the stream is reset, and the connection stays open.
        let closes_connection = request.version() < Version::HTTP_2;
        if closes_connection {
            // The previous body was consumed, or this request would not have been parsed.
            self.0.store(false, Relaxed);
        }
        request.map(|body| WatchedBody {
            has_ended: false,
            body,
            unread: closes_connection.then(|| self.clone()),
        })
    }
}

/// A body that sets the flag when it is dropped before its end.
pub(crate) struct WatchedBody<B: Body + Unpin> {
    body: B,
    has_ended: bool,
    unread: Option<UnreadBody>,
}

impl<B: Body + Unpin> Body for WatchedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.has_ended = frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body + Unpin> Drop for WatchedBody<B> {
    fn drop(&mut self) {
        if let Some(unread) = &self.unread
            && !self.has_ended
            && !self.body.is_end_stream()
        {
            unread.0.store(true, Relaxed);
        }
    }
}

/// A stream whose input is discarded for a while after its end if a body was left unread.
pub(crate) struct LingeringStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    /// `None` only during drop.
    stream: Option<S>,
    unread: UnreadBody,
}

impl<S> LingeringStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    pub(crate) fn new(stream: S, unread: UnreadBody) -> Self {
        Self {
            stream: Some(stream),
            unread,
        }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut S>> {
        let stream = self.stream.as_mut().map(Pin::new);
        stream.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<S> Drop for LingeringStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn drop(&mut self) {
        if self.unread.0.load(Relaxed)
            && let Some(stream) = self.stream.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(timeout(MAX_LINGER, drain_input(stream)));
        }
    }
}

/// Discards input until the client has closed its side or is idle.
async fn drain_input<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) {
    // Our side is closed already, unless the connection was to be upgraded.
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut discarded = vec![0; READ_BUFFER_BYTES];
    while let Ok(Ok(1..)) = timeout(LINGER_IDLE_TIMEOUT, stream.read(&mut discarded)).await {}
}

impl<S> AsyncRead for LingeringStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(cx, buffer)
    }
}

impl<S> AsyncWrite for LingeringStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write(cx, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream()?.poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(S::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyExt, Full, StreamBody};
    use tokio::{
        io::{DuplexStream, duplex},
        time::Instant,
    };

    use super::*;

    type Text = Full<Bytes>;

    fn request(text: &'static str) -> Request<Text> {
        Request::new(Full::new(Bytes::from_static(text.as_bytes())))
    }

    fn left_unread(stream: DuplexStream) -> LingeringStream<DuplexStream> {
        let unread = UnreadBody::default();
        drop(unread.watch(request("abc")));
        LingeringStream::new(stream, unread)
    }

    /// How long the server keeps its end open.
    async fn time_until_closed(mut client: DuplexStream) -> Duration {
        let begun = Instant::now();
        while client.write_all(b"m").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_sends_can_read_the_response() {
        let (mut client, stream) = duplex(64);
        let mut stream = left_unread(stream);
        stream.write_all(b"no, thank you").await.expect("written");
        drop(stream);

        for _ in 0..100 {
            client.write_all(&[0; 64]).await.expect("input is read");
        }
        let mut response = String::new();
        let read = client.read_to_string(&mut response).await;

        read.expect("a response");
        assert_eq!(response, "no, thank you");
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_client_is_disconnected() {
        let (mut client, stream) = duplex(64);
        drop(left_unread(stream));

        // Paused time.
        tokio::time::sleep(LINGER_IDLE_TIMEOUT + Duration::from_millis(1)).await;

        assert!(client.write_all(b"more").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn lingering_has_a_maximum() {
        let (client, stream) = duplex(64);
        drop(left_unread(stream));

        let open_for = time_until_closed(client).await;
        assert_eq!(open_for.as_secs(), MAX_LINGER.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_was_read_closes_at_once() {
        let (client, stream) = duplex(64);
        let unread = UnreadBody::default();
        drop(unread.watch(request("the one before")));
        let whole = unread.watch(request("abc"));
        whole.into_body().collect().await.expect("all of it");
        let pieces = futures_util::stream::iter([Ok::<_, io::Error>(Frame::data(Bytes::new()))]);
        let chunked = unread.watch(Request::new(StreamBody::new(pieces)));
        chunked.into_body().collect().await.expect("all of it");
        drop(unread.watch(request("")));
        drop(LingeringStream::new(stream, unread));

        assert!(time_until_closed(client).await.is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn http2_does_not_linger() {
        let (client, stream) = duplex(64);
        let unread = UnreadBody::default();
        let mut one_of_many = request("abc");
        *one_of_many.version_mut() = Version::HTTP_2;
        drop(unread.watch(one_of_many));
        drop(LingeringStream::new(stream, unread));

        assert!(time_until_closed(client).await.is_zero());
    }
}
