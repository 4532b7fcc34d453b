//! The end of a connection whose client is still sending.
//!
//! An answer that is given before the whole body has come may end its connection. If it were closed
//! with bytes unread, the system would tell the client that it was reset, and whoever sends first
//! and listens later would lose the answer. So what still comes is read and thrown away for a
//! while, by a task of its own: nobody waits for that.

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

/// How long a client may go on sending what nobody wants.
const LONGEST: Duration = Duration::from_secs(15);

/// How long it may be silent meanwhile.
const SILENCE: Duration = Duration::from_secs(2);

const BUFFER: usize = 16 << 10;

/// Whether the last request's body was left unread.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    /// Notices if the request's body is dropped before its end.
    pub(crate) fn watch<B: Body + Unpin>(&self, request: Request<B>) -> Request<Watched<B>> {
        // With HTTP/2 such a request ends alone, and the connection goes on.
        let is_alone = request.version() < Version::HTTP_2;
        if is_alone {
            // Nothing is left of the request before, or this one would not have been found.
            self.0.store(false, Relaxed);
        }
        request.map(|body| Watched {
            has_ended: false,
            body,
            unread: is_alone.then(|| self.clone()),
        })
    }
}

/// A body that tells when nobody reads it to its end.
pub(crate) struct Watched<B: Body + Unpin> {
    body: B,
    has_ended: bool,
    unread: Option<Unread>,
}

impl<B: Body + Unpin> Body for Watched<B> {
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

impl<B: Body + Unpin> Drop for Watched<B> {
    fn drop(&mut self) {
        if let Some(unread) = &self.unread
            && !self.has_ended
            && !self.body.is_end_stream()
        {
            unread.0.store(true, Relaxed);
        }
    }
}

/// A stream that is read on after its end where something was left unread.
pub(crate) struct Lingering<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    /// Absent only while it is dropped.
    stream: Option<S>,
    unread: Unread,
}

impl<S> Lingering<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    pub(crate) fn new(stream: S, unread: Unread) -> Self {
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

impl<S> Drop for Lingering<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn drop(&mut self) {
        if self.unread.0.load(Relaxed)
            && let Some(stream) = self.stream.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(timeout(LONGEST, read_on(stream)));
        }
    }
}

/// Until the client has closed, too, or is silent.
async fn read_on<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) {
    // It is closed on our side already, unless it was to become something else than HTTP.
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut unwanted = vec![0; BUFFER];
    while let Ok(Ok(1..)) = timeout(SILENCE, stream.read(&mut unwanted)).await {}
}

impl<S> AsyncRead for Lingering<S>
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

impl<S> AsyncWrite for Lingering<S>
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

    fn left_unread(stream: DuplexStream) -> Lingering<DuplexStream> {
        let unread = Unread::default();
        drop(unread.watch(request("abc")));
        Lingering::new(stream, unread)
    }

    /// How long the other end stays.
    async fn stays(mut client: DuplexStream) -> Duration {
        let begun = Instant::now();
        while client.write_all(b"m").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_still_sends_may_finish() {
        let (mut client, stream) = duplex(64);
        let mut stream = left_unread(stream);
        stream.write_all(b"no, thank you").await.expect("written");
        drop(stream);

        for _ in 0..100 {
            client.write_all(&[0; 64]).await.expect("somebody reads");
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer");

        assert_eq!(answer, "no, thank you");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_it() {
        let (mut client, stream) = duplex(64);
        drop(left_unread(stream));

        tokio::time::sleep(SILENCE + Duration::from_millis(1)).await;

        assert!(client.write_all(b"more").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_never_stops_is_cut_off() {
        let (client, stream) = duplex(64);
        drop(left_unread(stream));

        assert_eq!(stays(client).await.as_secs(), LONGEST.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn where_everything_was_read_the_end_is_at_once() {
        let (client, stream) = duplex(64);
        let unread = Unread::default();
        drop(unread.watch(request("the one before")));
        let whole = unread.watch(request("abc"));
        whole.into_body().collect().await.expect("all of it");
        let pieces = futures_util::stream::iter([Ok::<_, io::Error>(Frame::data(Bytes::new()))]);
        let chunked = unread.watch(Request::new(StreamBody::new(pieces)));
        chunked.into_body().collect().await.expect("all of it");
        drop(unread.watch(request("")));
        drop(Lingering::new(stream, unread));

        assert!(stays(client).await.is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_of_http2_ends_alone() {
        let (client, stream) = duplex(64);
        let unread = Unread::default();
        let mut one_of_many = request("abc");
        *one_of_many.version_mut() = Version::HTTP_2;
        drop(unread.watch(one_of_many));
        drop(Lingering::new(stream, unread));

        assert!(stays(client).await.is_zero());
    }
}
