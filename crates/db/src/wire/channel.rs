//! Messages out and in, over one stream.
//!
//! What is queued leaves when somebody reads, together with the reading: a server that is busy
//! answering can never wait for us while we wait for it.

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

/// Room for what arrives. A larger message gets room of its own, as much as it needs.
const INCOMING: usize = 8 * 1024;
/// From here on, the room is the system's and not the allocator's.
const HUGE: usize = 1024 * 1024;
/// Room for what leaves that a connection keeps between requests.
const OUTGOING: usize = 16 * 1024;
/// Kind and length.
const HEADER: usize = 5;

/// The two kinds of stream. The usual one is not behind a pointer.
pub(super) enum Stream {
    Plain(Socket),
    Encrypted(Box<dyn Duplex>),
}

pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Duplex for S {}

/// One message of the server.
pub(super) struct Message<'a> {
    pub(super) kind: u8,
    pub(super) body: Body<'a>,
}

/// What is in a message.
pub(super) enum Body<'a> {
    /// In the connection's buffer, until the next one is read.
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
    /// What is to be sent.
    pub(super) outgoing: BytesMut,
    /// How much of it has left.
    sent: usize,
    /// An encrypting stream may hold back what it was given.
    is_flushed: bool,
    incoming: Box<[u8]>,
    /// The part of `incoming` that nobody has looked at.
    unread: Range<usize>,
}

impl Channel {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            outgoing: BytesMut::with_capacity(OUTGOING),
            sent: 0,
            is_flushed: true,
            incoming: vec![0; INCOMING].into_boxed_slice(),
            unread: 0..0,
        }
    }

    /// The stream, and what has arrived and was not read. Nothing may be queued.
    pub(super) fn into_parts(self) -> (Stream, BytesMut) {
        let unread = BytesMut::from(&self.incoming[self.unread]);
        (self.stream, unread)
    }

    /// The next message. Whatever is queued leaves meanwhile.
    pub(super) async fn next(&mut self) -> io::Result<Message<'_>> {
        self.wait_for(HEADER).await?;
        let mut header = &self.incoming[self.unread.clone()];
        let kind = header.get_u8();
        // The length counts itself.
        let length = header.get_u32().checked_sub(4);
        let length = length.ok_or(io::ErrorKind::InvalidData)? as usize;
        self.unread.start += HEADER;
        let body = match length <= INCOMING {
            true => {
                self.wait_for(length).await?;
                let start = self.unread.start;
                self.unread.start += length;
                Body::Small(&self.incoming[start..start + length])
            }
            false => Body::Large(self.large(length).await?),
        };
        Ok(Message { kind, body })
    }

    /// Until so many bytes are unread.
    async fn wait_for(&mut self, length: usize) -> io::Result<()> {
        while self.unread.len() < length {
            self.make_room(length);
            let count = poll_fn(|cx| {
                let sent = self.poll_send(cx);
                or_failure(self.poll_receive(cx), sent)
            });
            more(count.await?)?;
        }
        Ok(())
    }

    /// What arrived already, and the rest straight to where it stays.
    async fn large(&mut self, length: usize) -> io::Result<Bytes> {
        let arrived = self.unread.clone();
        self.unread = 0..0;
        if length >= HUGE {
            return self.huge(length, arrived).await;
        }
        let mut body = BytesMut::with_capacity(length);
        body.extend_from_slice(&self.incoming[arrived]);
        while body.len() < length {
            let rest = length - body.len();
            let count = poll_fn(|cx| {
                let sent = self.poll_send(cx);
                let mut room = (&mut body).limit(rest);
                let received = poll_read_buf(Pin::new(&mut self.stream), cx, &mut room);
                or_failure(received, sent)
            });
            more(count.await?)?;
        }
        Ok(body.freeze())
    }

    async fn huge(&mut self, length: usize, arrived: Range<usize>) -> io::Result<Bytes> {
        let mut body = Mapping::new(length)?;
        let mut filled = arrived.len();
        body.as_mut()[..filled].copy_from_slice(&self.incoming[arrived]);
        while filled < length {
            let count = poll_fn(|cx| {
                let sent = self.poll_send(cx);
                let mut room = ReadBuf::new(&mut body.as_mut()[filled..]);
                let received = Pin::new(&mut self.stream).poll_read(cx, &mut room);
                let received = received.map_ok(|()| room.filled().len());
                or_failure(received, sent)
            });
            filled += more(count.await?)?;
        }
        Ok(Bytes::from_owner(body))
    }

    /// Whether the server has hung up, or said something that nobody asked for, while the
    /// connection was at rest. What it says about its own parameters is left to be skipped.
    pub(super) fn is_disturbed(&mut self) -> bool {
        if self.unread.is_empty() {
            self.make_room(INCOMING);
            let cx = &mut Context::from_waker(Waker::noop());
            // Nothing is asked of the kernel unless it has told us of something.
            match self.poll_receive(cx) {
                Poll::Pending => return false,
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return true,
            }
        }
        let kind = self.incoming[self.unread.start];
        !matches!(kind, PARAMETER_STATUS_TAG | NOTICE_RESPONSE_TAG)
    }

    /// Moves what is unread to the front where the rest of `length` would not fit behind it.
    fn make_room(&mut self, length: usize) {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start + length > INCOMING {
            self.incoming.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut room = ReadBuf::new(&mut self.incoming[self.unread.end..]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut room))?;
        let count = room.filled().len();
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
            self.forget_outgoing();
        }
        Poll::Ready(Ok(()))
    }

    /// Keeps the room for the next request, unless this one was large.
    fn forget_outgoing(&mut self) {
        self.sent = 0;
        match self.outgoing.capacity() <= 4 * OUTGOING {
            true => self.outgoing.clear(),
            false => self.outgoing = BytesMut::with_capacity(OUTGOING),
        }
    }
}

/// The end of the stream is none of a message.
fn more(count: usize) -> io::Result<usize> {
    match count {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(count),
    }
}

/// A server that hung up may have said why, so reading goes on where writing has failed.
fn or_failure(
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
