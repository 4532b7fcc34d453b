//! Logical replication of a project's database, with the administrating role.
//!
//! A WAL sender is a session and would block copying the database. So the replication session
//! belongs to a task that disconnects when an exclusive lock is requested, whatever the reader does:
//! a reader that had to disconnect itself could be waiting for the lock at that moment.

use std::time::Duration;

use plinth_db::{
    DbError, Target,
    replication::{Lsn, Replication, ReplicationStream, SlotLifetime, System, WalData},
};
use tokio::{
    sync::{OwnedRwLockReadGuard, mpsc, watch},
    task::JoinHandle,
};

/// Capacity of the queue of changes that wait for their reader; further WAL stays in the server.
const QUEUE_CAPACITY: usize = 64;

/// How long an orderly end of the session may take.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A replication session with the administrating role, for commands on slots. Commands are aborted
/// when an exclusive lock of the database is requested.
pub struct Replicator {
    session: Replication,
    lock: SharedLock,
}

/// A shared lock of the database, which is to be released when the exclusive one is requested.
pub(crate) struct SharedLock {
    pub(crate) is_locked: watch::Receiver<bool>,
    pub(crate) _guard: OwnedRwLockReadGuard<()>,
}

impl SharedLock {
    /// Completes when the exclusive lock is requested.
    async fn must_release(&mut self) {
        _ = self.is_locked.wait_for(|is_locked| *is_locked).await;
    }

    /// Runs the work unless the exclusive lock is requested.
    async fn run<T>(
        &mut self,
        work: impl Future<Output = Result<T, DbError>>,
    ) -> Result<T, DbError> {
        tokio::select! {
            done = work => done,
            () = self.must_release() => Err(database_locked()),
        }
    }
}

fn database_locked() -> DbError {
    DbError::Unavailable("database is locked for copy or drop".to_owned())
}

impl Replicator {
    pub(crate) async fn connect(target: &Target, mut lock: SharedLock) -> Result<Self, DbError> {
        let session = lock.run(Replication::connect(target)).await?;
        Ok(Self { session, lock })
    }

    /// `IDENTIFY_SYSTEM`: the server and its current WAL position.
    pub async fn identify(&mut self) -> Result<System, DbError> {
        self.lock.run(self.session.identify()).await
    }

    /// Creates a permanent slot and returns its start position. The server waits for all transactions
    /// that are open now.
    pub async fn create_slot(&mut self, slot: &str) -> Result<Lsn, DbError> {
        let work = self.session.create_slot(slot, SlotLifetime::Permanent);
        self.lock.run(work).await
    }

    /// Drops a slot, which must not be in use.
    pub async fn drop_slot(&mut self, slot: &str) -> Result<(), DbError> {
        self.lock.run(self.session.drop_slot(slot)).await
    }

    /// Streams a slot from its confirmed position, or from `from` if that is later: a server that
    /// was stopped may have lost the last confirmation.
    pub async fn follow(
        mut self,
        slot: &str,
        publications: &[&str],
        from: Lsn,
    ) -> Result<SlotStream, DbError> {
        let starting = self.session.start(slot, publications, from);
        let stream = self.lock.run(starting).await?;
        let (sender, changes) = mpsc::channel(QUEUE_CAPACITY);
        let (confirmed, positions) = watch::channel(Lsn::ZERO);
        let task = tokio::spawn(forward(stream, self.lock, sender, positions));
        Ok(SlotStream {
            changes,
            confirmed,
            task,
        })
    }
}

/// The changes of a slot. Dropping it ends the session and frees the slot.
pub struct SlotStream {
    changes: mpsc::Receiver<Result<WalData, DbError>>,
    confirmed: watch::Sender<Lsn>,
    task: JoinHandle<()>,
}

impl SlotStream {
    /// The next change. At the end of the stream an error once, and then `None`: the server shuts
    /// down, the connection is lost, or the database is locked for copy or drop.
    pub async fn next(&mut self) -> Option<Result<WalData, DbError>> {
        self.changes.recv().await
    }

    /// The next change if it is in the queue already.
    pub fn try_next(&mut self) -> Option<Result<WalData, DbError>> {
        self.changes.try_recv().ok()
    }

    /// Confirms everything up to here, the end of a transaction.
    pub fn confirm(&self, position: Lsn) {
        self.confirmed
            .send_if_modified(|known| std::mem::replace(known, position.max(*known)) < position);
    }

    /// Ends the session and waits until the last confirmation was sent.
    pub async fn end(self) {
        drop(self.changes);
        _ = self.task.await;
    }
}

/// Forwards changes from the server to the reader, until one of them ends.
async fn forward(
    mut stream: ReplicationStream,
    mut lock: SharedLock,
    sender: mpsc::Sender<Result<WalData, DbError>>,
    mut confirmed: watch::Receiver<Lsn>,
) {
    let error = loop {
        let permit = tokio::select! {
            biased;
            permit = sender.reserve() => permit,
            error = stream.keep_alive() => break Some(error),
            position = next_position(&mut confirmed) => {
                stream.confirm(position);
                continue;
            }
            () = lock.must_release() => break Some(database_locked()),
        };
        let Ok(permit) = permit else {
            break None;
        };
        tokio::select! {
            next = stream.next() => match next {
                Ok(Some(data)) => permit.send(Ok(data)),
                Ok(None) => break Some(DbError::Lost("the server shuts down".to_owned())),
                Err(error) => break Some(error),
            },
            position = next_position(&mut confirmed) => stream.confirm(position),
            () = sender.closed() => break None,
            () = lock.must_release() => break Some(database_locked()),
        }
    };
    match error {
        None => {
            stream.confirm(*confirmed.borrow());
            // A server that is sending a large transaction is not waited for.
            let end = tokio::time::timeout(END_TIMEOUT, stream.end());
            tokio::select! {
                _ = end => {}
                () = lock.must_release() => {}
            }
        }
        Some(error) => {
            // The lock is released before the reader is notified.
            drop((stream, lock));
            _ = sender.send(Err(error)).await;
        }
    }
}

/// The next confirmation. Pending for ever once the reader is gone; then `sender` is closed too.
async fn next_position(confirmed: &mut watch::Receiver<Lsn>) -> Lsn {
    match confirmed.changed().await {
        Ok(()) => *confirmed.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}
