//! Delivery of row changes to the subscribers who want them and may see them (§9.5, §14.2).
//!
//! A task takes the changes that have arrived, as many as there are, and handles them as one batch:
//! which filters match (usually without the database), which subscribers may see the row (one query
//! per group of subscribers that the policies do not distinguish), and what the row looks like. So
//! a slow policy makes batches larger. If the queue is full nevertheless, the stream is read no
//! further for a while, and then changes are dropped: they must not hold up broadcasts of the same
//! stream. The README says when changes are dropped, delayed or duplicated.

mod batch;
mod fan_out;
mod policies;
mod row_change;
mod table_cache;
mod visibility;

use std::{sync::Arc, time::Duration};

use plinth_db::{DbError, replication::Lsn};
use plinth_project::{Project, ProjectDb, Service};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{Instant, sleep, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

pub(crate) use row_change::{Operation, RowChange};

use self::table_cache::TableCache;
use crate::{
    commit_visibility::VisibleCommits, config::RealtimeConfig, hub::Hub, subscriptions::Published,
};

/// Largest number of items in a batch.
const MAX_BATCH: usize = 256;

/// Capacity of the queue in KiB. While it is full, the stream is not read, and PostgreSQL retains
/// the WAL.
const QUEUE_CAPACITY_KIB: u32 = 32 * 1024;

/// How long the stream waits for a full queue. After that changes are dropped, until half of the
/// queue is free.
const QUEUE_FULL_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the list of published tables is refreshed.
const PUBLISHED_INTERVAL: Duration = Duration::from_secs(30);

const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// The queue of the delivery task.
pub(crate) struct Delivery {
    items: mpsc::UnboundedSender<Item>,
    /// One permit per KiB.
    capacity: Arc<Semaphore>,
    /// Since when changes are dropped.
    behind_since: Option<Instant>,
    hub: Arc<Hub>,
    delivered: watch::Receiver<Lsn>,
    outages: watch::Receiver<u64>,
    _task: AbortOnDropHandle<()>,
}

enum Item {
    /// A table may have changed: its cached catalog data is no longer valid.
    InvalidateTable(u32),
    /// With its share of the queue's capacity.
    Change(RowChange, OwnedSemaphorePermit),
    /// Everything up to here has been queued.
    Commit(Lsn),
}

impl Delivery {
    pub(crate) fn start(project: &Project, hub: &Arc<Hub>, shutdown: CancellationToken) -> Self {
        let (items, queue) = mpsc::unbounded_channel();
        let (delivered_sender, delivered) = watch::channel(Lsn::ZERO);
        let (outages_sender, outages) = watch::channel(0);
        let worker = Worker {
            project: project.clone(),
            hub: hub.clone(),
            tables: TableCache::default(),
            visible_commits: VisibleCommits::default(),
            delivered: delivered_sender,
            outages: outages_sender,
        };
        let task = async move {
            tokio::select! {
                () = worker.run(queue) => {}
                () = shutdown.cancelled() => {}
            }
        };
        Self {
            items,
            capacity: Arc::new(Semaphore::new(QUEUE_CAPACITY_KIB as usize)),
            behind_since: None,
            hub: hub.clone(),
            delivered,
            outages,
            _task: AbortOnDropHandle::new(tokio::spawn(task)),
        }
    }

    /// The position up to which everything has been delivered or dropped.
    pub(crate) fn watch_delivered(&self) -> watch::Receiver<Lsn> {
        self.delivered.clone()
    }

    /// Changes when the database stops responding, from now on.
    pub(crate) fn watch_outages(&self) -> watch::Receiver<u64> {
        let mut outages = self.outages.clone();
        outages.mark_unchanged();
        outages
    }

    pub(crate) fn invalidate_table(&self, table: u32) {
        _ = self.items.send(Item::InvalidateTable(table));
    }

    pub(crate) fn commit(&self, position: Lsn) {
        _ = self.items.send(Item::Commit(position));
    }

    /// Queues a change. Waits while the queue is full, up to [`QUEUE_FULL_TIMEOUT`], and drops the
    /// change then. `size` is its memory in bytes.
    pub(crate) async fn change(&mut self, change: RowChange, size: usize) {
        let weight = u32::try_from(size / 1024 + 1).unwrap_or(QUEUE_CAPACITY_KIB);
        let capacity = self.capacity.clone();
        if capacity.available_permits() > QUEUE_CAPACITY_KIB as usize / 2 {
            self.behind_since = None;
        }
        let permit = capacity.acquire_many_owned(weight.min(QUEUE_CAPACITY_KIB));
        let deadline = match self.behind_since {
            Some(since) => since + QUEUE_FULL_TIMEOUT,
            None => Instant::now() + QUEUE_FULL_TIMEOUT,
        };
        match timeout_at(deadline, permit).await {
            Ok(Ok(permit)) => _ = self.items.send(Item::Change(change, permit)),
            // The semaphore is closed: the task has ended.
            Ok(Err(_)) => {}
            Err(_) => {
                if self.behind_since.is_none() {
                    self.behind_since = Some(deadline - QUEUE_FULL_TIMEOUT);
                    tracing::warn!(
                        code = "UnableToBroadcastChanges",
                        "dropping row changes: policy checks cannot keep up"
                    );
                }
                self.hub.metrics.count_skipped_changes("behind", 1);
            }
        }
    }
}

struct Worker {
    project: Project,
    hub: Arc<Hub>,
    tables: TableCache,
    visible_commits: VisibleCommits,
    delivered: watch::Sender<Lsn>,
    /// Counts how often the database did not respond.
    outages: watch::Sender<u64>,
}

impl Worker {
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Item>) {
        let mut refresh =
            tokio::time::interval_at(Instant::now() + PUBLISHED_INTERVAL, PUBLISHED_INTERVAL);
        let mut items = Vec::with_capacity(MAX_BATCH);
        loop {
            tokio::select! {
                count = queue.recv_many(&mut items, MAX_BATCH) => {
                    if count == 0 {
                        return;
                    }
                    self.handle(&mut items).await;
                }
                _ = refresh.tick() => self.refresh_published().await,
            }
        }
    }

    async fn handle(&mut self, items: &mut Vec<Item>) {
        let mut changes = Vec::new();
        let mut permits = Vec::new();
        let mut position = None;
        for item in items.drain(..) {
            match item {
                Item::Change(change, permit) => {
                    changes.push(change);
                    permits.push(permit);
                }
                Item::Commit(end) => position = Some(end),
                Item::InvalidateTable(table) => {
                    // Changes before it belong to the table as it was.
                    self.deliver(&std::mem::take(&mut changes)).await;
                    self.tables.invalidate(table);
                }
            }
        }
        self.deliver(&changes).await;
        if let Some(position) = position {
            // Transactions that are read again have been delivered long ago.
            self.delivered.send_if_modified(|delivered| {
                let is_newer = position > *delivered;
                *delivered = position.max(*delivered);
                is_newer
            });
        }
    }

    /// Delivers a batch, with retries until the database responds. Drops it if PostgreSQL rejects a
    /// query, or if the project is over its rate limit.
    async fn deliver(&mut self, changes: &[RowChange]) {
        if changes.is_empty() {
            return;
        }
        let config = self.project.config::<RealtimeConfig>();
        if self.hub.usage.change_events.average() >= config.max_events {
            self.hub
                .metrics
                .count_skipped_changes("rate", changes.len());
            return;
        }
        let hub = self.hub.clone();
        let mut backoff = INITIAL_BACKOFF;
        loop {
            let attempt = self.try_to_deliver(changes);
            match hub.metrics.time_batch(attempt).await {
                Ok(()) => return,
                Err(error) if error.pg_error().is_some() => {
                    tracing::warn!(
                        code = "UnableToBroadcastChanges",
                        "dropping a batch of {} row changes: {error}",
                        changes.len()
                    );
                    self.hub
                        .metrics
                        .count_skipped_changes("error", changes.len());
                    return;
                }
                Err(error) => {
                    tracing::warn!(
                        code = "PoolingReplicationError",
                        "retrying delivery of row changes with backoff: {error}"
                    );
                    if error.is_transient() && !matches!(error, DbError::PoolTimeout) {
                        self.outages.send_modify(|times| *times += 1);
                    }
                    sleep(backoff).await;
                    backoff = (backoff * 2).min(MAX_BACKOFF);
                }
            }
        }
    }

    async fn try_to_deliver(&mut self, changes: &[RowChange]) -> Result<(), DbError> {
        let db = &self.project.db;
        let transactions = changes.iter().map(|change| change.transaction);
        self.visible_commits.wait_for(db, transactions).await?;
        batch::deliver(db, &self.hub, &mut self.tables, changes).await
    }

    async fn refresh_published(&mut self) {
        if self.hub.subscriptions.is_idle() {
            return;
        }
        match load_published(&self.project.db).await {
            Ok(published) => self.hub.subscriptions.set_published(&Arc::new(published)),
            Err(error) => tracing::debug!("could not refresh the published tables: {error}"),
        }
    }
}

async fn load_published(db: &ProjectDb) -> Result<Published, DbError> {
    let mut connection = db.as_service(Service::Realtime).await?;
    Published::load(&mut connection).await
}
