//! The changes of a project's database, as its administrating role follows them.
//!
//! A walsender counts as somebody who uses the database, and it can be asked for at any length. So
//! the session belongs to a task that hangs up when the database is to be held, whatever the
//! reader is doing then: a reader that were to hang up by itself could at that moment be waiting
//! for the database.

use std::time::Duration;

use plinth_db::{
    DbError, Target,
    replication::{Lsn, Replication, ReplicationStream, SlotLifetime, System, WalData},
};
use tokio::{
    sync::{OwnedRwLockReadGuard, mpsc, watch},
    task::JoinHandle,
};

/// Changes that have been read and wait for their reader. What is beyond stays in the server.
const WAITING: usize = 64;

/// How long a good end may take.
const GOODBYE: Duration = Duration::from_secs(5);

/// A replication session with the administrating role, for the commands about slots. While it is
/// out, the database cannot be held, but commands are given up when somebody wants to.
pub struct Replicator {
    session: Replication,
    turn: Turn,
}

/// The right to use the database, until somebody wants it for themselves.
pub(crate) struct Turn {
    pub(crate) is_held: watch::Receiver<bool>,
    pub(crate) _gate: OwnedRwLockReadGuard<()>,
}

impl Turn {
    async fn is_over(&mut self) {
        _ = self.is_held.wait_for(|is_held| *is_held).await;
    }

    async fn during<T>(
        &mut self,
        work: impl Future<Output = Result<T, DbError>>,
    ) -> Result<T, DbError> {
        tokio::select! {
            done = work => done,
            () = self.is_over() => Err(hung_up()),
        }
    }
}

fn hung_up() -> DbError {
    DbError::Unavailable("somebody needs the database for themselves".to_owned())
}

impl Replicator {
    pub(crate) async fn connect(target: &Target, mut turn: Turn) -> Result<Self, DbError> {
        let session = turn.during(Replication::connect(target)).await?;
        Ok(Self { session, turn })
    }

    /// Which server this is, and how far it has written.
    pub async fn identify(&mut self) -> Result<System, DbError> {
        self.turn.during(self.session.identify()).await
    }

    /// Makes a permanent slot; gives where its changes begin. The server waits for all transactions
    /// that are open at this moment.
    pub async fn create_slot(&mut self, slot: &str) -> Result<Lsn, DbError> {
        let work = self.session.create_slot(slot, SlotLifetime::Permanent);
        self.turn.during(work).await
    }

    /// Drops a slot, once nobody reads from it.
    pub async fn drop_slot(&mut self, slot: &str) -> Result<(), DbError> {
        self.turn.during(self.session.drop_slot(slot)).await
    }

    /// Follows a slot from where its reader has confirmed to be, or from where it says that it is,
    /// which a server that was stopped may have forgotten.
    pub async fn follow(
        mut self,
        slot: &str,
        publications: &[&str],
        from: Lsn,
    ) -> Result<Following, DbError> {
        let starting = self.session.start(slot, publications, from);
        let stream = self.turn.during(starting).await?;
        let (sender, changes) = mpsc::channel(WAITING);
        let (confirmed, heard) = watch::channel(Lsn::ZERO);
        let task = tokio::spawn(pass_on(stream, self.turn, sender, heard));
        Ok(Following {
            changes,
            confirmed,
            task,
        })
    }
}

/// The changes of a slot. Dropped, the session ends and the slot is free.
pub struct Following {
    changes: mpsc::Receiver<Result<WalData, DbError>>,
    confirmed: watch::Sender<Lsn>,
    task: JoinHandle<()>,
}

impl Following {
    /// What comes next; an error once, and then `None`, when the stream is over: the server stops,
    /// the connection is lost, or somebody needs the database for themselves.
    pub async fn next(&mut self) -> Option<Result<WalData, DbError>> {
        self.changes.recv().await
    }

    /// What has arrived already, without waiting.
    pub fn try_next(&mut self) -> Option<Result<WalData, DbError>> {
        self.changes.try_recv().ok()
    }

    /// The reader is done with everything up to here, which is the end of a transaction.
    pub fn confirm(&self, position: Lsn) {
        self.confirmed
            .send_if_modified(|known| std::mem::replace(known, position.max(*known)) < position);
    }

    /// Ends the session and waits until it has told the server what was confirmed.
    pub async fn end(self) {
        drop(self.changes);
        _ = self.task.await;
    }
}

/// From the server to the reader, until one of them has enough.
async fn pass_on(
    mut stream: ReplicationStream,
    mut turn: Turn,
    sender: mpsc::Sender<Result<WalData, DbError>>,
    mut confirmed: watch::Receiver<Lsn>,
) {
    let why = loop {
        let room = tokio::select! {
            biased;
            room = sender.reserve() => room,
            error = stream.stand_by() => break Some(error),
            position = next_position(&mut confirmed) => {
                stream.confirm(position);
                continue;
            }
            () = turn.is_over() => break Some(hung_up()),
        };
        let Ok(room) = room else {
            break None;
        };
        tokio::select! {
            next = stream.next() => match next {
                Ok(Some(data)) => room.send(Ok(data)),
                Ok(None) => break Some(DbError::Lost("the server stops".to_owned())),
                Err(error) => break Some(error),
            },
            position = next_position(&mut confirmed) => stream.confirm(position),
            () = sender.closed() => break None,
            () = turn.is_over() => break Some(hung_up()),
        }
    };
    match why {
        None => {
            stream.confirm(*confirmed.borrow());
            // A server that is in the middle of something large is not waited for.
            let end = tokio::time::timeout(GOODBYE, stream.end());
            tokio::select! {
                _ = end => {}
                () = turn.is_over() => {}
            }
        }
        Some(error) => {
            // The database is free before anybody hears of it.
            drop((stream, turn));
            _ = sender.send(Err(error)).await;
        }
    }
}

/// Never again, once the reader is gone: then `sender` is closed too.
async fn next_position(confirmed: &mut watch::Receiver<Lsn>) -> Lsn {
    match confirmed.changed().await {
        Ok(()) => *confirmed.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}
