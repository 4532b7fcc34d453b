//! A session in which both sides send data until one of them has enough.
//!
//! Unlike a request, it is read for as long as it lives, beside other things that may come first:
//! all that is known of a message that has only half arrived is kept, so that a read can be given
//! up and taken up again.

use std::{
    io,
    pin::Pin,
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
/// Room for what arrives. Messages are cut out of it, and it is used again when they are gone. A
/// larger message gets room of its own.
const INCOMING: usize = 64 * 1024;
/// With less than this left, there is new room.
const LEAST: usize = 8 * 1024;
/// Kind and length.
const HEADER: usize = 5;

/// Data in both directions.
pub(crate) struct CopyBoth {
    stream: Stream,
    cancel: CancelHandle,
    incoming: BytesMut,
    outgoing: BytesMut,
    is_flushed: bool,
}

/// What the server says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Data(Bytes),
    /// It has no more data.
    Done,
    /// It is ready for the next command.
    Ready,
}

impl Connection {
    /// Runs a command after which both sides send data.
    pub(crate) async fn copy_both(mut self, command: &str) -> Result<CopyBoth, DbError> {
        self.queue(command)?;
        self.status = Status::Working;
        loop {
            let message = self.channel.next().await.map_err(lost)?;
            match message.kind {
                COPY_BOTH_TAG => return Ok(CopyBoth::new(self)),
                ERROR_RESPONSE_TAG => return Err(decode::error(message.body.as_ref()).into()),
                READY_FOR_QUERY_TAG => {
                    let refusal = "the command is not one that sends data".to_owned();
                    return Err(DbError::Misuse(refusal));
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

    /// Queues data, which leaves when somebody polls.
    pub(crate) fn send(&mut self, data: &[u8]) {
        self.outgoing.put_u8(COPY_DATA_TAG);
        self.outgoing.put_u32(data.len() as u32 + 4);
        self.outgoing.put_slice(data);
    }

    /// Queues that there will be no more.
    pub(crate) fn send_done(&mut self) {
        self.outgoing.put_u8(COPY_DONE_TAG);
        self.outgoing.put_u32(4);
    }

    /// Whether something waits to leave.
    pub(crate) fn is_sending(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// A message that has arrived already, without asking the socket.
    pub(crate) fn arrived(&mut self) -> Result<Option<Part>, DbError> {
        while let Some((kind, body)) = self.message().map_err(lost)? {
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
        if length > INCOMING {
            // What is left over would keep the large room.
            self.incoming = BytesMut::from(&self.incoming[..]);
        }
        Ok(Some((kind, body)))
    }

    /// Kind and length of the message that arrives.
    fn header(&self) -> io::Result<Option<(u8, usize)>> {
        let Some(mut header) = self.incoming.get(..HEADER) else {
            return Ok(None);
        };
        let kind = header.get_u8();
        // The length counts itself.
        let length = header.get_u32().checked_sub(4);
        let length = length.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some((kind, length as usize)))
    }

    /// The next message; what is queued leaves meanwhile.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Part, DbError>> {
        loop {
            // A server that hung up may have said why, so reading goes on where writing failed.
            let sent = self.poll_send(cx);
            if let Some(part) = self.arrived()? {
                return Poll::Ready(Ok(part));
            }
            match (self.poll_receive(cx), sent) {
                (Poll::Ready(received), _) => received.map_err(lost)?,
                (Poll::Pending, Poll::Ready(Err(error))) => return Poll::Ready(Err(lost(error))),
                (Poll::Pending, _) => return Poll::Pending,
            }
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.make_room()?;
        match ready!(poll_read_buf(
            Pin::new(&mut self.stream),
            cx,
            &mut self.incoming
        ))? {
            0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn make_room(&mut self) -> io::Result<()> {
        let length = self.header()?.map_or(0, |(_, length)| length);
        let room = self.incoming.capacity() - self.incoming.len();
        if length > INCOMING {
            let rest = (HEADER + length).saturating_sub(self.incoming.len());
            self.incoming.reserve(rest);
        } else if room < LEAST {
            self.incoming.reserve(INCOMING);
        }
        Ok(())
    }

    /// Ready when everything queued has left.
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

    /// The session again, once the server is ready.
    pub(crate) fn into_connection(self) -> Connection {
        Connection::new(self.stream, self.cancel)
    }
}

pub(crate) fn lost(error: io::Error) -> DbError {
    DbError::Lost(error.to_string())
}
