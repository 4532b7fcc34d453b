//! A session in CopyBoth mode: both sides send data until one of them ends it.
//!
//! Reading is cancel safe, unlike for a request: the state of a partially received message is kept,
//! so that a read can be dropped and started again.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use postgres_protocol::message::backend::{
    COMMAND_COMPLETE_TAG, COPY_DATA_TAG, COPY_DONE_TAG, ERROR_RESPONSE_TAG, READY_FOR_QUERY_TAG,
};
use tokio_util::io::poll_read_buf;

use super::{
    channel::Stream,
    connection::{Connection, Status},
    decode,
    handshake::CancelHandle,
};
use crate::DbError;

/// CopyBothResponse, which the protocol crate does not know.
const COPY_BOTH_TAG: u8 = b'W';
/// Size of the read buffer. Messages are split off it, and it is reused once they are dropped. A
/// larger message gets a buffer of its own.
const READ_BUFFER_BYTES: usize = 64 * 1024;
/// With less space left, a new buffer is allocated.
const MIN_FREE_BYTES: usize = 8 * 1024;
/// Tag and length.
const HEADER: usize = 5;

/// A session in CopyBoth mode.
pub(crate) struct CopyBoth {
    stream: Stream,
    cancel: Arc<CancelHandle>,
    incoming: BytesMut,
    outgoing: BytesMut,
    is_flushed: bool,
}

/// What the server sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Data(Bytes),
    /// CopyDone.
    Done,
    /// ReadyForQuery.
    Ready,
}

impl Connection {
    /// Runs a command that enters CopyBoth mode.
    pub(crate) async fn copy_both(mut self, command: &str) -> Result<CopyBoth, DbError> {
        self.queue(command)?;
        self.status = Status::Working;
        loop {
            let message = self.channel.next().await.map_err(lost_connection)?;
            match message.kind {
                COPY_BOTH_TAG => return Ok(CopyBoth::new(self)),
                ERROR_RESPONSE_TAG => return Err(decode::error(message.body.as_ref()).into()),
                READY_FOR_QUERY_TAG => {
                    let reason = "the command is not one that sends data".to_owned();
                    return Err(DbError::Misuse(reason));
                }
                _ => {}
            }
        }
    }
}

impl CopyBoth {
    fn new(connection: Connection) -> Self {
        let (channel, cancel) = connection.into_parts();
        let (stream, incoming) = channel.into_parts();
        Self {
            stream,
            cancel,
            incoming,
            outgoing: BytesMut::new(),
            is_flushed: true,
        }
    }

    /// Queues data, which is written by the next poll.
    pub(crate) fn send(&mut self, data: &[u8]) {
        self.outgoing.put_u8(COPY_DATA_TAG);
        self.outgoing.put_u32(data.len() as u32 + 4);
        self.outgoing.put_slice(data);
    }

    /// Queues a CopyDone.
    pub(crate) fn send_done(&mut self) {
        self.outgoing.put_u8(COPY_DONE_TAG);
        self.outgoing.put_u32(4);
    }

    /// Whether output is queued.
    pub(crate) fn is_sending(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// A message that has already been received, without reading from the socket.
    pub(crate) fn received_part(&mut self) -> Result<Option<Part>, DbError> {
        while let Some((kind, body)) = self.message().map_err(lost_connection)? {
            match kind {
                COPY_DATA_TAG => return Ok(Some(Part::Data(body))),
                COPY_DONE_TAG | COMMAND_COMPLETE_TAG => return Ok(Some(Part::Done)),
                READY_FOR_QUERY_TAG => return Ok(Some(Part::Ready)),
                ERROR_RESPONSE_TAG => return Err(decode::error(&body).into()),
                _ => {}
            }
        }
        Ok(None)
    }

    fn message(&mut self) -> io::Result<Option<(u8, Bytes)>> {
        let Some((kind, length)) = self.header()? else {
            return Ok(None);
        };
        if self.incoming.len() < HEADER + length {
            return Ok(None);
        }
        self.incoming.advance(HEADER);
        let body = self.incoming.split_to(length).freeze();
        if length > READ_BUFFER_BYTES {
            // The remainder would keep the large buffer alive.
            self.incoming = BytesMut::from(&self.incoming[..]);
        }
        Ok(Some((kind, body)))
    }

    /// Tag and length of the next message.
    fn header(&self) -> io::Result<Option<(u8, usize)>> {
        let Some(mut header) = self.incoming.get(..HEADER) else {
            return Ok(None);
        };
        let kind = header.get_u8();
        // The length includes itself.
        let length = header.get_u32().checked_sub(4);
        let length = length.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some((kind, length as usize)))
    }

    /// The next message; writes queued output meanwhile.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Part, DbError>> {
        loop {
            // A server that closed the connection may have sent the reason: keep reading.
            let sent = self.poll_send(cx);
            if let Some(part) = self.received_part()? {
                return Poll::Ready(Ok(part));
            }
            match (self.poll_receive(cx), sent) {
                (Poll::Ready(received), _) => received.map_err(lost_connection)?,
                (Poll::Pending, Poll::Ready(Err(error))) => {
                    return Poll::Ready(Err(lost_connection(error)));
                }
                (Poll::Pending, _) => return Poll::Pending,
            }
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ensure_capacity()?;
        match ready!(poll_read_buf(
            Pin::new(&mut self.stream),
            cx,
            &mut self.incoming
        ))? {
            0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn ensure_capacity(&mut self) -> io::Result<()> {
        let length = self.header()?.map_or(0, |(_, length)| length);
        let spare_bytes = self.incoming.capacity() - self.incoming.len();
        if length > READ_BUFFER_BYTES {
            let rest = (HEADER + length).saturating_sub(self.incoming.len());
            self.incoming.reserve(rest);
        } else if spare_bytes < MIN_FREE_BYTES {
            self.incoming.reserve(READ_BUFFER_BYTES);
        }
        Ok(())
    }

    /// Ready when the output queue is empty.
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            self.is_flushed = false;
            match ready!(self.stream.poll_write(cx, &self.outgoing))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.outgoing.advance(count),
            }
        }
        if !self.is_flushed {
            ready!(self.stream.poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// The session again, after ReadyForQuery.
    pub(crate) fn into_connection(self) -> Connection {
        Connection::new(self.stream, self.cancel)
    }
}

pub(crate) fn lost_connection(error: io::Error) -> DbError {
    DbError::Lost(error.to_string())
}
