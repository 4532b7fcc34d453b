//! The end of a connection whose client is still sending.
//!
//! An answer that is given before the whole body has come ends the connection. If it were closed
//! with bytes unread, the system would tell the client that it was reset, and whoever sends first
//! and listens later would lose the answer. So what still comes is read and thrown away for a
//! while.

use std::{
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::body::{Body, Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

/// How long a client may go on sending what nobody wants.
const LONGEST: Duration = Duration::from_secs(15);

/// How long it may be silent meanwhile.
const SILENCE: Duration = Duration::from_secs(2);

const BUFFER: usize = 16 << 10;

/// Whether a request's body was left unread.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    /// Notices if the body is dropped before its end.
    pub(crate) fn watch<B: Body + Unpin>(&self, body: B) -> Watched<B> {
        Watched {
            has_ended: body.is_end_stream(),
            body,
            unread: self.clone(),
        }
    }
}

/// A body that tells when nobody reads it to its end.
pub(crate) struct Watched<B: Body + Unpin> {
    body: B,
    has_ended: bool,
    unread: Unread,
}

impl<B: Body + Unpin> Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.has_ended = frame.is_none() || self.body.is_end_stream();
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
        if !self.has_ended {
            self.unread.0.store(true, Relaxed);
        }
    }
}

/// A stream that reads on after its end where something was left unread.
pub(crate) struct Lingering<S> {
    stream: S,
    unread: Unread,
    /// Set once our own side is closed.
    farewell: Option<Farewell>,
}

struct Farewell {
    latest: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S, unread: Unread) -> Self {
        Self {
            stream,
            unread,
            farewell: None,
        }
    }
}

impl Farewell {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            latest: now + LONGEST,
            alarm: Box::pin(sleep_until(now + SILENCE)),
        }
    }

    /// Ready when the client has closed too, is silent or takes too long.
    fn poll<S: AsyncRead + Unpin>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<()> {
        let mut unwanted = [MaybeUninit::uninit(); BUFFER];
        loop {
            let mut buffer = ReadBuf::uninit(&mut unwanted);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let patience = Instant::now() + SILENCE;
                    self.alarm.as_mut().reset(patience.min(self.latest));
                    if Instant::now() >= self.latest {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.alarm.as_mut().poll(cx),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
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
        let this = &mut *self;
        if this.farewell.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        if !this.unread.0.load(Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let farewell = this.farewell.get_or_insert_with(Farewell::new);
        farewell.poll(&mut this.stream, cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyExt, Full, StreamBody};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    fn left_unread(stream: DuplexStream) -> Lingering<DuplexStream> {
        let unread = Unread::default();
        drop(unread.watch(Full::new(Bytes::from_static(b"abc"))));
        Lingering::new(stream, unread)
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_still_sends_may_finish() {
        let (mut client, stream) = duplex(64);
        let mut stream = left_unread(stream);
        stream.write_all(b"no, thank you").await.expect("written");

        let server = tokio::spawn(async move { stream.shutdown().await });
        for _ in 0..100 {
            client.write_all(&[0; 64]).await.expect("somebody reads");
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer");
        drop(client);

        assert_eq!(answer, "no, thank you");
        server.await.expect("no panic").expect("an orderly end");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_it() {
        let (_client, stream) = duplex(64);
        let begun = Instant::now();

        left_unread(stream).shutdown().await.expect("the end");

        assert_eq!(begun.elapsed().as_secs(), SILENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_never_stops_is_cut_off() {
        let (mut client, stream) = duplex(64);
        let begun = Instant::now();
        let mut stream = left_unread(stream);
        let server = tokio::spawn(async move { stream.shutdown().await });

        while client.write_all(b"more").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }

        server.await.expect("no panic").expect("the end");
        assert!(
            begun.elapsed() <= LONGEST + SILENCE,
            "{:?}",
            begun.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn where_everything_was_read_the_end_is_at_once() {
        let (_client, stream) = duplex(64);
        let unread = Unread::default();
        let whole = unread.watch(Full::new(Bytes::from_static(b"abc")));
        whole.collect().await.expect("all of it");
        let chunked = futures_util::stream::iter([Ok::<_, io::Error>(Frame::data(Bytes::new()))]);
        unread
            .watch(StreamBody::new(chunked))
            .collect()
            .await
            .expect("all of it");
        drop(unread.watch(Full::new(Bytes::new())));
        let begun = Instant::now();

        Lingering::new(stream, unread)
            .shutdown()
            .await
            .expect("the end");

        assert!(begun.elapsed().is_zero());
    }
}
