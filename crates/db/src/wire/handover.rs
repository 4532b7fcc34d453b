//! A stream that is lent to `tokio-postgres` for the handshake and then taken back.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// ReadyForQuery outside a transaction: what the server says last when a session starts.
const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];

/// A handle to the stream; all clones lead to the same one.
pub(super) struct Handover<S>(Arc<Mutex<Lent<S>>>);

struct Lent<S> {
    stream: Option<S>,
    /// The last bytes that were read.
    tail: [u8; READY.len()],
}

impl<S> Handover<S> {
    pub(super) fn of(stream: S) -> Self {
        Self::with(Some(stream))
    }

    /// To be filled later.
    pub(super) fn empty() -> Self {
        Self::with(None)
    }

    fn with(stream: Option<S>) -> Self {
        let tail = [0; READY.len()];
        Self(Arc::new(Mutex::new(Lent { stream, tail })))
    }

    /// The stream, if there is one. An error if the borrower may have read more than the
    /// handshake: those bytes would be missing.
    pub(super) fn take(&self) -> io::Result<Option<S>> {
        let mut lent = self.lock();
        match lent.stream.take() {
            Some(_) if lent.tail != READY => Err(io::Error::other(
                "the server said something after it was ready",
            )),
            stream => Ok(stream),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lent<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_stream<T>(
        &self,
        work: impl FnOnce(Pin<&mut S>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>>
    where
        S: Unpin,
    {
        match &mut self.lock().stream {
            Some(stream) => work(Pin::new(stream)),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl<S> Clone for Handover<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Handover<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buffer.filled().len();
        let read = self.with_stream(|stream| stream.poll_read(cx, buffer));
        let new = &buffer.filled()[known..];
        let mut lent = self.lock();
        for byte in &new[new.len().saturating_sub(READY.len())..] {
            lent.tail.rotate_left(1);
            lent.tail[READY.len() - 1] = *byte;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Handover<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with_stream(|stream| stream.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with_stream(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with_stream(|stream| stream.poll_shutdown(cx))
    }
}

impl<S: TlsStream + Unpin> TlsStream for Handover<S> {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.lock().stream {
            Some(stream) => stream.channel_binding(),
            None => ChannelBinding::none(),
        }
    }
}

/// Encrypts, and keeps a handle to the encrypted stream.
pub(super) struct Encrypting<T, E> {
    pub(super) tls: T,
    pub(super) encrypted: Handover<E>,
}

impl<S, T, E> TlsConnect<S> for Encrypting<T, E>
where
    T: TlsConnect<S, Stream = E>,
    T::Future: Send + 'static,
    E: TlsStream + Unpin + Send + 'static,
{
    type Stream = Handover<E>;
    type Error = T::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Handover<E>, T::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.tls.connect(stream);
        Box::pin(async move {
            self.encrypted.lock().stream = Some(connecting.await?);
            Ok(self.encrypted)
        })
    }
}
