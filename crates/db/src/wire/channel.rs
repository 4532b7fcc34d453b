//! Buffered reading and writing of messages over one stream.
//!
//! Queued output is written while reading: a server that blocks on sending its response can never
//! deadlock with us.

use std::{
    future::poll_fn,
    io,
    ops::Range,
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use postgres_protocol::message::backend::{NOTICE_RESPONSE_TAG, PARAMETER_STATUS_TAG};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::io::poll_read_buf;

use super::{mapping::Mapping, socket::Socket};

/// Size of the read buffer. A larger message gets a buffer of its own.
const READ_BUFFER_BYTES: usize = 8 * 1024;
/// Messages from this size on are read into an anonymous mapping instead of the heap.
const MAPPED_BODY_BYTES: usize = 1024 * 1024;
/// Size of the write buffer that a connection keeps between requests.
const WRITE_BUFFER_BYTES: usize = 16 * 1024;
/// Tag and length.
const HEADER: usize = 5;

/// Plain or encrypted. The common variant is unboxed.
pub(super) enum Stream {
    Plain(Socket),
    Encrypted(Box<dyn Duplex>),
}

pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Duplex for S {}

/// One message from the server.
pub(super) struct Message<'a> {
    pub(super) kind: u8,
    pub(super) body: Body<'a>,
}

/// Body of a message.
pub(super) enum Body<'a> {
    /// In the connection's read buffer, valid until the next read.
    Small(&'a [u8]),
    Large(Bytes),
}

impl Body<'_> {
    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::Small(bytes) => Bytes::copy_from_slice(bytes),
            Self::Large(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Body<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(bytes) => bytes,
        }
    }
}

/// Both directions of one connection.
pub(super) struct Channel {
    stream: Stream,
    /// Queued output.
    pub(super) outgoing: BytesMut,
    /// How much of it was written.
    sent: usize,
    /// A TLS stream buffers writes.
    is_flushed: bool,
    incoming: Box<[u8]>,
    /// The unread part of `incoming`.
    unread: Range<usize>,
}

impl Channel {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            outgoing: BytesMut::with_capacity(WRITE_BUFFER_BYTES),
            sent: 0,
            is_flushed: true,
            incoming: vec![0; READ_BUFFER_BYTES].into_boxed_slice(),
            unread: 0..0,
        }
    }

    /// The stream and the unread bytes. The output queue must be empty.
    pub(super) fn into_parts(self) -> (Stream, BytesMut) {
        let unread = BytesMut::from(&self.incoming[self.unread]);
        (self.stream, unread)
    }

    /// The next message. Writes queued output meanwhile.
    pub(super) async fn next(&mut self) -> io::Result<Message<'_>> {
        self.wait_for(HEADER).await?;
        let mut header = &self.incoming[self.unread.clone()];
        let kind = header.get_u8();
        // The length includes itself.
        let length = header.get_u32().checked_sub(4);
        let length = length.ok_or(io::ErrorKind::InvalidData)? as usize;
        self.unread.start += HEADER;
        let body = if length <= READ_BUFFER_BYTES {
            self.wait_for(length).await?;
            let start = self.unread.start;
            self.unread.start += length;
            Body::Small(&self.incoming[start..start + length])
        } else {
            Body::Large(self.read_large_body(length).await?)
        };
        Ok(Message { kind, body })
    }

    /// Kind and body length of the next message. Its body is to be read with [`Channel::part`].
    pub(super) async fn header(&mut self) -> io::Result<(u8, usize)> {
        self.wait_for(HEADER).await?;
        let mut header = &self.incoming[self.unread.clone()];
        let kind = header.get_u8();
        let length = header.get_u32().checked_sub(4);
        self.unread.start += HEADER;
        Ok((kind, length.ok_or(io::ErrorKind::InvalidData)? as usize))
    }

    /// The next bytes of a body: at least one, at most `limit`.
    pub(super) async fn part(&mut self, limit: usize) -> io::Result<&[u8]> {
        self.wait_for(1).await?;
        let start = self.unread.start;
        let count = limit.min(self.unread.len());
        self.unread.start += count;
        Ok(&self.incoming[start..start + count])
    }

    /// Reads until at least `length` bytes are unread.
    async fn wait_for(&mut self, length: usize) -> io::Result<()> {
        while self.unread.len() < length {
            self.compact(length);
            let count = poll_fn(|cx| {
                let sent = self.poll_send(cx);
                read_or_write_error(self.poll_receive(cx), sent)
            });
            require_some(count.await?)?;
        }
        Ok(())
    }

    /// Reads a body larger than the read buffer into a buffer of its own.
    async fn read_large_body(&mut self, length: usize) -> io::Result<Bytes> {
        let arrived = self.unread.clone();
        self.unread = 0..0;
        if length >= MAPPED_BODY_BYTES {
            return self.read_mapped_body(length, arrived).await;
        }
        let mut body = BytesMut::with_capacity(length);
        body.extend_from_slice(&self.incoming[arrived]);
        while body.len() < length {
            let rest = length - body.len();
            let count = poll_fn(|cx| {
                let sent = self.poll_send(cx);
                let mut buffer = (&mut body).limit(rest);
                let received = poll_read_buf(Pin::new(&mut self.stream), cx, &mut buffer);
                read_or_write_error(received, sent)
            });
            require_some(count.await?)?;
        }
        Ok(body.freeze())
    }

    async fn read_mapped_body(
        &mut self,
        length: usize,
        arrived: Range<usize>,
    ) -> io::Result<Bytes> {
        let mut body = Mapping::new(length)?;
        let mut filled = arrived.len();
        body.as_mut()[..filled].copy_from_slice(&self.incoming[arrived]);
        while filled < length {
            let count = poll_fn(|cx| {
                let sent = self.poll_send(cx);
                let mut buffer = ReadBuf::new(&mut body.as_mut()[filled..]);
                let received = Pin::new(&mut self.stream).poll_read(cx, &mut buffer);
                let received = received.map_ok(|()| buffer.filled().len());
                read_or_write_error(received, sent)
            });
            filled += require_some(count.await?)?;
        }
        Ok(Bytes::from_owner(body))
    }

    /// Whether the server has closed an idle connection or sent something unexpected. Parameter
    /// changes and notices are fine and skipped by the next read.
    pub(super) fn has_unexpected_input(&mut self) -> bool {
        if self.unread.is_empty() {
            self.compact(READ_BUFFER_BYTES);
            let cx = &mut Context::from_waker(Waker::noop());
            // No system call unless the reactor has seen the socket become readable.
            match self.poll_receive(cx) {
                Poll::Pending => return false,
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return true,
            }
        }
        let kind = self.incoming[self.unread.start];
        !matches!(kind, PARAMETER_STATUS_TAG | NOTICE_RESPONSE_TAG)
    }

    /// Moves unread bytes to the front where `length` bytes would not fit behind them.
    fn compact(&mut self, length: usize) {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start + length > READ_BUFFER_BYTES {
            self.incoming.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(&mut self.incoming[self.unread.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        let count = buffer.filled().len();
        self.unread.end += count;
        Poll::Ready(Ok(count))
    }

    /// Ready when everything queued has been sent.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.outgoing.len() {
            let rest = &self.outgoing[self.sent..];
            self.is_flushed = false;
            match ready!(self.stream.poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.sent += count,
            }
        }
        if !self.is_flushed {
            ready!(self.stream.poll_flush(cx))?;
            self.is_flushed = true;
            self.reset_outgoing();
        }
        Poll::Ready(Ok(()))
    }

    /// Keeps the buffer for the next request, unless it has grown large.
    fn reset_outgoing(&mut self) {
        self.sent = 0;
        if self.outgoing.capacity() <= 4 * WRITE_BUFFER_BYTES {
            self.outgoing.clear();
        } else {
            self.outgoing = BytesMut::with_capacity(WRITE_BUFFER_BYTES);
        }
    }
}

/// End of stream inside a message is an error.
fn require_some(count: usize) -> io::Result<usize> {
    match count {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(count),
    }
}

/// A server that closed the connection may have sent the reason, so reading continues after a failed write.
fn read_or_write_error(
    received: Poll<io::Result<usize>>,
    sent: Poll<io::Result<()>>,
) -> Poll<io::Result<usize>> {
    match (received, sent) {
        (Poll::Pending, Poll::Ready(Err(error))) => Poll::Ready(Err(error)),
        (received, _) => received,
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Encrypted(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl Stream {
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Encrypted(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
        }
    }
}
