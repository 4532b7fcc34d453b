//! The row changes of a slot, read on demand.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

use crate::{
    DbError,
    replication::{
        Lsn, Replication,
        status::Progress,
        wal_message::{WalData, WalMessage},
    },
    wire::{CopyBoth, Part, lost_connection},
};

/// Interval of standby status updates; `wal_sender_timeout` is a minute.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// Changes of one slot. Nothing is read unless [`next`](Self::next) is polled, so a slow reader applies
/// backpressure and costs no memory here. Dropping it closes the session and frees the slot;
/// unconfirmed changes are sent again.
pub struct ReplicationStream {
    copying: CopyBoth,
    progress: Progress,
    /// The confirmed position advanced; sent when there is nothing to read.
    has_advanced: bool,
    status_due: Pin<Box<Sleep>>,
}

impl ReplicationStream {
    pub(super) fn new(copying: CopyBoth, from: Lsn) -> Self {
        let mut progress = Progress::default();
        Self {
            copying,
            has_advanced: progress.confirm(from),
            progress,
            status_due: Box::pin(sleep(STATUS_INTERVAL)),
        }
    }

    /// The next message; `None` when the server has ended the stream, as in a shutdown. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<WalData>, DbError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<WalData>, DbError>> {
        loop {
            self.poll_status_due(cx);
            if self.copying.is_sending() {
                // A write error is reported by the read below.
                _ = self.copying.poll_send(cx);
            }
            let part = match self.copying.received_part()? {
                Some(part) => part,
                None => {
                    self.send_status_if_advanced();
                    ready!(self.copying.poll_next(cx))?
                }
            };
            let Part::Data(data) = part else {
                return Poll::Ready(Ok(None));
            };
            match WalMessage::decode(data)
                .map_err(|error| lost_connection(io::Error::other(error)))?
            {
                WalMessage::Data(data) => {
                    self.progress.mark_delivered(data.position);
                    return Poll::Ready(Ok(Some(data)));
                }
                WalMessage::Keepalive { end, wants_reply } => {
                    self.progress.advance_to_server_end(end);
                    if wants_reply {
                        self.send_status();
                    }
                }
                WalMessage::Unknown => {}
            }
        }
    }

    /// Confirms everything up to the end of a transaction: [`WalData::position`] of its commit. Sent
    /// to the server when there is nothing to read.
    pub fn confirm(&mut self, position: Lsn) {
        self.has_advanced |= self.progress.confirm(position);
    }

    /// Sends status updates, and reads nothing, while the reader is busy. Returns only when the
    /// connection fails; cancel safe.
    pub async fn keep_alive(&mut self) -> DbError {
        poll_fn(|cx| {
            self.send_status_if_advanced();
            self.poll_status_due(cx);
            match self.copying.poll_send(cx) {
                Poll::Ready(Err(error)) => Poll::Ready(lost_connection(error)),
                Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Ends the stream after sending the last confirmation. The session can be reused; changes in flight
    /// are dropped and sent again later.
    pub async fn end(mut self) -> Result<Replication, DbError> {
        self.send_status();
        self.copying.send_done();
        loop {
            let part = poll_fn(|cx| self.copying.poll_next(cx)).await?;
            if part == Part::Ready {
                return Ok(Replication::resume(self.copying.into_connection()));
            }
        }
    }

    fn poll_status_due(&mut self, cx: &mut Context<'_>) {
        while self.status_due.as_mut().poll(cx).is_ready() {
            self.send_status();
        }
    }

    fn send_status_if_advanced(&mut self) {
        if self.has_advanced && !self.copying.is_sending() {
            self.send_status();
        }
    }

    fn send_status(&mut self) {
        self.has_advanced = false;
        self.copying.send(&self.progress.status_update());
        let due = Instant::now() + STATUS_INTERVAL;
        self.status_due.as_mut().reset(due);
    }
}
