//! A stream that is lent to `tokio-postgres` for the handshake and then taken back.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::startup::StartupParameter;

/// ReadyForQuery outside a transaction: what the server says last when a session starts.
const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];

/// A handle to the stream; all clones lead to the same one.
pub(super) struct Handover<S>(Arc<Mutex<Lent<S>>>);

struct Lent<S> {
    stream: Option<S>,
    /// The last bytes that were read.
    tail: [u8; READY.len()],
    /// What the borrower is to say besides what it knows.
    adds: Option<StartupParameter>,
    /// What was written and has not left, while something is added.
    leaving: BytesMut,
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
        Self(Arc::new(Mutex::new(Lent {
            stream,
            tail: [0; READY.len()],
            adds: None,
            leaving: BytesMut::new(),
        })))
    }

    /// Has the StartupMessage say one thing more.
    pub(super) fn adding(self, parameter: Option<StartupParameter>) -> Self {
        self.lock().adds = parameter;
        self
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

impl<S: AsyncWrite + Unpin> Lent<S> {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_leave(cx))?;
        let Some(adds) = &mut self.adds else {
            return match &mut self.stream {
                Some(stream) => Pin::new(stream).poll_write(cx, bytes),
                None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            };
        };
        adds.pass(bytes, &mut self.leaving);
        if adds.has_passed() {
            self.adds = None;
        }
        // What the stream does not take now leaves before anything else is done with it.
        if let Poll::Ready(left) = self.poll_leave(cx) {
            left?;
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_leave(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.leaving.is_empty() {
            let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            match ready!(Pin::new(stream).poll_write(cx, &self.leaving))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.leaving.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S> Clone for Handover<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Handover<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(left) = self.lock().poll_leave(cx) {
            left?;
        }
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
        self.lock().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.lock().poll_leave(cx))?;
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

#[cfg(test)]
mod tests {
    use postgres_protocol::message::frontend;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn what_is_added_leaves_however_little_the_stream_takes() {
        let (near, mut far) = tokio::io::duplex(3);
        let parameter = StartupParameter::new("replication", "database");
        let mut lent = Handover::of(near).adding(Some(parameter));
        let mut written = BytesMut::new();
        frontend::startup_message([("user", "ada")], &mut written).expect("a message");

        let write = async {
            lent.write_all(&written).await.expect("written");
            lent.write_all(b"more").await.expect("written");
            lent.flush().await.expect("flushed");
        };
        let mut expected = BytesMut::new();
        let parameters = [("user", "ada"), ("replication", "database")];
        frontend::startup_message(parameters, &mut expected).expect("a message");
        expected.extend_from_slice(b"more");
        let mut read = vec![0; expected.len()];
        let (_, arrived) = tokio::join!(write, far.read_exact(&mut read));

        arrived.expect("everything arrives");
        assert_eq!(read, expected);
    }

    #[tokio::test]
    async fn what_was_written_leaves_while_the_borrower_reads() {
        let (near, mut far) = tokio::io::duplex(3);
        let parameter = StartupParameter::new("replication", "database");
        let mut lent = Handover::of(near).adding(Some(parameter));
        let mut request = BytesMut::new();
        frontend::ssl_request(&mut request);

        lent.write_all(&request).await.expect("accepted");
        let server = async {
            let mut read = [0; 8];
            far.read_exact(&mut read).await.expect("the request");
            far.write_all(b"N").await.expect("answered");
            read
        };
        let (answer, read) = tokio::join!(lent.read_u8(), server);

        assert_eq!(
            (answer.expect("an answer"), &read[..]),
            (b'N', &request[..])
        );
    }
}
