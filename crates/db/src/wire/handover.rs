//! Lends a stream to `tokio-postgres` for the handshake and takes it back.

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

/// ReadyForQuery outside a transaction: the last message of the startup phase.
const READY: [u8; 6] = [b'Z', 0, 0, 0, 5, b'I'];

/// A shared handle to the stream.
pub(super) struct Handover<S>(Arc<Mutex<SharedStream<S>>>);

struct SharedStream<S> {
    stream: Option<S>,
    /// The last bytes read.
    tail: [u8; READY.len()],
    /// A parameter to add to the StartupMessage.
    parameter: Option<StartupParameter>,
    /// Rewritten output that is not sent yet.
    pending: BytesMut,
}

impl<S> Handover<S> {
    pub(super) fn of(stream: S) -> Self {
        Self::with(Some(stream))
    }

    /// Filled later.
    pub(super) fn empty() -> Self {
        Self::with(None)
    }

    fn with(stream: Option<S>) -> Self {
        Self(Arc::new(Mutex::new(SharedStream {
            stream,
            tail: [0; READY.len()],
            parameter: None,
            pending: BytesMut::new(),
        })))
    }

    /// Adds a parameter to the StartupMessage.
    pub(super) fn with_parameter(self, parameter: Option<StartupParameter>) -> Self {
        self.lock().parameter = parameter;
        self
    }

    /// Takes the stream back, if there is one. Fails if the borrower may have read bytes after the
    /// handshake: they would be lost.
    pub(super) fn take(&self) -> io::Result<Option<S>> {
        let mut stream = self.lock();
        match stream.stream.take() {
            Some(_) if stream.tail != READY => Err(io::Error::other(
                "the server said something after it was ready",
            )),
            stream => Ok(stream),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharedStream<S>> {
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

impl<S: AsyncWrite + Unpin> SharedStream<S> {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_write_pending(cx))?;
        let Some(parameter) = &mut self.parameter else {
            return match &mut self.stream {
                Some(stream) => Pin::new(stream).poll_write(cx, bytes),
                None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            };
        };
        parameter.rewrite(bytes, &mut self.pending);
        if parameter.is_done() {
            self.parameter = None;
        }
        // What the stream does not accept now is written before anything else.
        if let Poll::Ready(left) = self.poll_write_pending(cx) {
            left?;
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_pending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            match ready!(Pin::new(stream).poll_write(cx, &self.pending))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.pending.advance(count),
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
        if let Poll::Ready(left) = self.lock().poll_write_pending(cx) {
            left?;
        }
        let known = buffer.filled().len();
        let read = self.with_stream(|stream| stream.poll_read(cx, buffer));
        let new = &buffer.filled()[known..];
        let mut stream = self.lock();
        for byte in &new[new.len().saturating_sub(READY.len())..] {
            stream.tail.rotate_left(1);
            stream.tail[READY.len() - 1] = *byte;
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
        ready!(self.lock().poll_write_pending(cx))?;
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

/// A TLS connector that keeps a handle to the encrypted stream.
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
        let mut stream = Handover::of(near).with_parameter(Some(parameter));
        let mut written = BytesMut::new();
        frontend::startup_message([("user", "ada")], &mut written).expect("a message");

        let write = async {
            stream.write_all(&written).await.expect("written");
            stream.write_all(b"more").await.expect("written");
            stream.flush().await.expect("flushed");
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
        let mut stream = Handover::of(near).with_parameter(Some(parameter));
        let mut request = BytesMut::new();
        frontend::ssl_request(&mut request);

        stream.write_all(&request).await.expect("accepted");
        let server = async {
            let mut read = [0; 8];
            far.read_exact(&mut read).await.expect("the request");
            far.write_all(b"N").await.expect("written");
            read
        };
        let (response, read) = tokio::join!(stream.read_u8(), server);

        assert_eq!(
            (response.expect("a response"), &read[..]),
            (b'N', &request[..])
        );
    }
}
