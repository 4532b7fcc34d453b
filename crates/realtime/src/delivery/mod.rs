//! From a change in the log to the sockets of those who want to hear of it and may (§9.5, §14.2).
//!
//! A task of its own takes what has arrived, as much as there is, and decides it together: whose
//! filters fit (without the database, as a rule), which of them may see the row (one question per
//! group of subscribers whom policies cannot tell apart, whatever their number), what the row looks
//! like. A slow policy therefore makes batches larger. Should more wait than fits all the same,
//! changes are left out after a while: they must not hold up the broadcasts in the same log.

mod batch;
mod change;
pub(crate) mod commits;
mod policies;
mod tables;
mod tell;
mod visibility;

use std::{sync::Arc, time::Duration};

use plinth_db::{DbError, replication::Lsn};
use plinth_project::{Project, ProjectDb, Service};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{Instant, sleep, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

pub(crate) use change::{Change, What};

use self::{commits::Commits, tables::Tables};
use crate::{config::RealtimeConfig, hub::Hub, subscriptions::Published};

/// Changes that are decided together, at most.
const MOST_TOGETHER: usize = 256;

/// What may wait, in KiB. Beyond it nothing more is read for a while: the server keeps it.
const MOST_WAITING: u32 = 32 * 1024;

/// For how long. Who is still behind then misses changes until half of what waited is done.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked which tables are published.
const PUBLISHED_INTERVAL: Duration = Duration::from_secs(30);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The way to the task.
pub(crate) struct Delivery {
    items: mpsc::UnboundedSender<Item>,
    room: Arc<Semaphore>,
    /// Since when there is no room.
    behind_since: Option<Instant>,
    hub: Arc<Hub>,
    done: watch::Receiver<Lsn>,
    away: watch::Receiver<u64>,
    _task: AbortOnDropHandle<()>,
}

enum Item {
    /// A table looks different from now on, or may.
    Described(u32),
    /// With its share of what may wait.
    Change(Change, OwnedSemaphorePermit),
    /// Everything up to here has been said.
    Commit(Lsn),
}

impl Delivery {
    pub(crate) fn start(project: &Project, hub: &Arc<Hub>, over: CancellationToken) -> Self {
        let (items, received) = mpsc::unbounded_channel();
        let (done, heard) = watch::channel(Lsn::ZERO);
        let (absences, away) = watch::channel(0);
        let worker = Worker {
            project: project.clone(),
            hub: hub.clone(),
            tables: Tables::default(),
            commits: Commits::default(),
            done,
            absences,
        };
        let working = async move {
            tokio::select! {
                () = worker.run(received) => {}
                () = over.cancelled() => {}
            }
        };
        Self {
            items,
            room: Arc::new(Semaphore::new(MOST_WAITING as usize)),
            behind_since: None,
            hub: hub.clone(),
            done: heard,
            away,
            _task: AbortOnDropHandle::new(tokio::spawn(working)),
        }
    }

    /// How far everything has been delivered.
    pub(crate) fn done(&self) -> watch::Receiver<Lsn> {
        self.done.clone()
    }

    /// News that the database does not answer from now on.
    pub(crate) fn away(&self) -> watch::Receiver<u64> {
        let mut away = self.away.clone();
        away.mark_unchanged();
        away
    }

    pub(crate) async fn described(&self, table: u32) {
        _ = self.items.send(Item::Described(table));
    }

    pub(crate) async fn commit(&self, position: Lsn) {
        _ = self.items.send(Item::Commit(position));
    }

    /// Waits while too much waits already, but not for long. `size` is what the change weighs in
    /// memory.
    pub(crate) async fn change(&mut self, change: Change, size: usize) {
        let weight = u32::try_from(size / 1024 + 1).unwrap_or(MOST_WAITING);
        let room = self.room.clone();
        if room.available_permits() > MOST_WAITING as usize / 2 {
            self.behind_since = None;
        }
        let room = room.acquire_many_owned(weight.min(MOST_WAITING));
        let until = match self.behind_since {
            Some(since) => since + PATIENCE,
            None => Instant::now() + PATIENCE,
        };
        match timeout_at(until, room).await {
            Ok(Ok(room)) => _ = self.items.send(Item::Change(change, room)),
            // Nobody takes changes any more.
            Ok(Err(_)) => {}
            Err(_) => {
                if self.behind_since.is_none() {
                    self.behind_since = Some(until - PATIENCE);
                    tracing::warn!(
                        code = "UnableToBroadcastChanges",
                        "policies are too slow for all changes to be told"
                    );
                }
                self.hub.numbers.skipped("behind", 1);
            }
        }
    }
}

struct Worker {
    project: Project,
    hub: Arc<Hub>,
    tables: Tables,
    commits: Commits,
    done: watch::Sender<Lsn>,
    /// Counts how often the database did not answer.
    absences: watch::Sender<u64>,
}

impl Worker {
    async fn run(mut self, mut items: mpsc::UnboundedReceiver<Item>) {
        let mut look =
            tokio::time::interval_at(Instant::now() + PUBLISHED_INTERVAL, PUBLISHED_INTERVAL);
        let mut arrived = Vec::with_capacity(MOST_TOGETHER);
        loop {
            tokio::select! {
                count = items.recv_many(&mut arrived, MOST_TOGETHER) => {
                    if count == 0 {
                        return;
                    }
                    self.take(&mut arrived).await;
                }
                _ = look.tick() => self.look_at_publication().await,
            }
        }
    }

    async fn take(&mut self, arrived: &mut Vec<Item>) {
        let mut changes = Vec::new();
        let mut rooms = Vec::new();
        let mut position = None;
        for item in arrived.drain(..) {
            match item {
                Item::Change(change, room) => {
                    changes.push(change);
                    rooms.push(room);
                }
                Item::Commit(end) => position = Some(end),
                Item::Described(table) => {
                    // What came before it is decided by what was known then.
                    self.deliver(&std::mem::take(&mut changes)).await;
                    self.tables.forget(table);
                }
            }
        }
        self.deliver(&changes).await;
        if let Some(position) = position {
            self.done.send_replace(position);
        }
    }

    /// Until it is done: a database that has gone comes back.
    async fn deliver(&mut self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let config = self.project.config::<RealtimeConfig>();
        if self.hub.change_events.average() >= config.max_events {
            self.hub.numbers.skipped("rate", changes.len());
            return;
        }
        let hub = self.hub.clone();
        let mut pause = FIRST_PAUSE;
        loop {
            let trying = self.try_to_deliver(changes);
            match hub.numbers.deciding(trying).await {
                Ok(()) => return,
                Err(error) if error.refusal().is_some() => {
                    tracing::warn!(
                        code = "UnableToBroadcastChanges",
                        "changes are skipped: {error}"
                    );
                    self.hub.numbers.skipped("error", changes.len());
                    return;
                }
                Err(error) => {
                    tracing::warn!(code = "PoolingReplicationError", "changes wait: {error}");
                    if error.is_transient() && !matches!(error, DbError::PoolTimeout) {
                        self.absences.send_modify(|times| *times += 1);
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn try_to_deliver(&mut self, changes: &[Change]) -> Result<(), DbError> {
        let db = &self.project.db;
        let transactions = changes.iter().map(|change| change.transaction);
        self.commits.wait_for(db, transactions).await?;
        batch::deliver(db, &self.hub, &mut self.tables, changes).await
    }

    async fn look_at_publication(&mut self) {
        if self.hub.subscriptions.is_idle() {
            return;
        }
        match load_published(&self.project.db).await {
            Ok(published) => self.hub.subscriptions.learn(&Arc::new(published)),
            Err(error) => tracing::debug!("the publication could not be read: {error}"),
        }
    }
}

async fn load_published(db: &ProjectDb) -> Result<Published, DbError> {
    let mut connection = db.as_service(Service::Realtime).await?;
    Published::load(&mut connection).await
}
