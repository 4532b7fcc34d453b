//! A slot's changes, as they are asked for.

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
    wire::{CopyBoth, Part, lost},
};

/// The server hears from us at least so often; it hangs up after a minute.
const STATUS_INTERVAL: Duration = Duration::from_secs(10);

/// Changes of one slot. Nothing is read unless [`next`](Self::next) is asked for it, so that a slow
/// reader slows the server down and costs no memory here. Dropped, the session is closed and the
/// slot is free; what was not confirmed comes again.
pub struct ReplicationStream {
    copying: CopyBoth,
    progress: Progress,
    /// There is news for the server, which can wait until there is nothing to read.
    has_news: bool,
    status_due: Pin<Box<Sleep>>,
}

impl ReplicationStream {
    pub(super) fn new(copying: CopyBoth, from: Lsn) -> Self {
        let mut progress = Progress::default();
        Self {
            copying,
            has_news: progress.confirm(from),
            progress,
            status_due: Box::pin(sleep(STATUS_INTERVAL)),
        }
    }

    /// What comes next; `None` when the server has ended the stream, as it does when it stops. Can
    /// be given up and asked again without a loss.
    pub async fn next(&mut self) -> Result<Option<WalData>, DbError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<WalData>, DbError>> {
        loop {
            self.poll_status_due(cx);
            if self.copying.is_sending() {
                // Why it fails, if it does, is what reading finds out.
                _ = self.copying.poll_send(cx);
            }
            let part = match self.copying.arrived()? {
                Some(part) => part,
                None => {
                    self.tell_news();
                    ready!(self.copying.poll_next(cx))?
                }
            };
            let Part::Data(data) = part else {
                return Poll::Ready(Ok(None));
            };
            match WalMessage::decode(data).map_err(|error| lost(io::Error::other(error)))? {
                WalMessage::Data(data) => {
                    self.progress.hand_out(data.position);
                    return Poll::Ready(Ok(Some(data)));
                }
                WalMessage::Keepalive { end, wants_reply } => {
                    self.progress.hear(end);
                    if wants_reply {
                        self.tell_status();
                    }
                }
                WalMessage::Unknown => {}
            }
        }
    }

    /// The reader is done with everything up to here: the end of a transaction, that is
    /// [`WalData::position`] of a commit. The server is told when there is nothing to read.
    pub fn confirm(&mut self, position: Lsn) {
        self.has_news |= self.progress.confirm(position);
    }

    /// Keeps the server content, and reads nothing, while the reader is busy with what it has. Ends
    /// only with the connection; can be given up at any time.
    pub async fn stand_by(&mut self) -> DbError {
        poll_fn(|cx| {
            self.tell_news();
            self.poll_status_due(cx);
            match self.copying.poll_send(cx) {
                Poll::Ready(Err(error)) => Poll::Ready(lost(error)),
                Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Ends the stream in good order, after what was confirmed has been told. The session can be
    /// used for something else; changes that are still on their way are dropped and come again.
    pub async fn end(mut self) -> Result<Replication, DbError> {
        self.tell_status();
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
            self.tell_status();
        }
    }

    fn tell_news(&mut self) {
        if self.has_news && !self.copying.is_sending() {
            self.tell_status();
        }
    }

    fn tell_status(&mut self) {
        self.has_news = false;
        self.copying.send(&self.progress.status_update());
        let due = Instant::now() + STATUS_INTERVAL;
        self.status_due.as_mut().reset(due);
    }
}
