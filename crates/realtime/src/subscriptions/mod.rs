//! Subscriptions to row changes (§9.2, §14.2).
//!
//! A channel subscribes through a task of its own ([`Subscribing`]), which validates its entries with
//! the database, adds them to the index and lives as long as the channel: when the published tables
//! change, or changes may have been lost, it subscribes again.

mod index;
mod published;
mod subscribe;

use std::{
    collections::HashSet,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use metrics::Gauge;
use plinth_db::replication::pgoutput::Value;
use plinth_project::Caller;
use tokio::sync::watch;

pub(crate) use published::Published;
pub(crate) use subscribe::{Entry, SubscribeTask, Subscribing};

use self::index::Index;
use crate::{
    changes::{ChangeRequest, Event, Table, decide::Condition},
    topics::Member,
};

/// A channel that subscribes, and the caller whose policies apply.
#[derive(Debug)]
pub(crate) struct Subscriber {
    /// Unique in this process.
    pub(crate) id: u64,
    pub(crate) topic: Arc<str>,
    pub(crate) member: Arc<Member>,
    pub(crate) caller: Caller,
}

impl Subscriber {
    pub(crate) fn new(topic: Arc<str>, member: Arc<Member>, caller: Caller) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Relaxed),
            topic,
            member,
            caller,
        }
    }
}

/// An entry of a channel, bound to one table.
#[derive(Debug)]
pub(crate) struct Subscription {
    id: u64,
    pub(crate) subscriber: Arc<Subscriber>,
    /// The id by which the client knows the entry.
    pub(crate) entry: u64,
    request: Arc<ChangeRequest>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) select: Option<HashSet<String>>,
}

impl Subscription {
    fn new(
        id: u64,
        subscriber: Arc<Subscriber>,
        entry: u64,
        request: Arc<ChangeRequest>,
        table: &Table,
    ) -> Self {
        let conditions = request.filters.iter().filter_map(|filter| {
            let column = table.column(&filter.column)?;
            Some(Condition::new(filter.clone(), column))
        });
        Self {
            id,
            subscriber,
            entry,
            conditions: conditions.collect(),
            select: request
                .select
                .as_ref()
                .map(|names| names.iter().cloned().collect()),
            request,
        }
    }

    /// The same, bound to a new version of the table.
    fn rebound(&self, table: &Table) -> Self {
        let (subscriber, request) = (self.subscriber.clone(), self.request.clone());
        Self::new(self.id, subscriber, self.entry, request, table)
    }

    /// Whether the columns of all filters exist: one may have been dropped.
    fn has_all_columns(&self) -> bool {
        self.conditions.len() == self.request.filters.len()
    }

    fn includes(&self, event: Event) -> bool {
        matches!(self.request.event, Event::All) || self.request.event == event
    }
}

/// All subscriptions of a project.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    index: RwLock<Index>,
    published: watch::Sender<Arc<Published>>,
    /// How many there are.
    gauge: Gauge,
}

impl Subscriptions {
    /// No subscriptions yet; `gauge` shows how many there are.
    pub(crate) fn new(gauge: Gauge) -> Self {
        Self {
            index: RwLock::default(),
            published: watch::Sender::default(),
            gauge,
        }
    }

    /// Whether a table has subscriptions.
    pub(crate) fn has(&self, table: u32) -> bool {
        self.read(|index| index.has(table))
    }

    /// Whether no channel subscribes, or is about to.
    pub(crate) fn is_idle(&self) -> bool {
        self.published.receiver_count() == 0
    }

    /// The subscriptions whose filters may match a row, by its values.
    pub(crate) fn candidates<'v>(
        &self,
        table: &Table,
        event: Event,
        value: impl Fn(&str) -> Option<&'v Value>,
    ) -> Vec<Arc<Subscription>> {
        self.read(|index| index.candidates(table, event, value))
    }

    /// All subscriptions to an event of a table, whatever their filters.
    pub(crate) fn all(&self, table: u32, event: Event) -> Vec<Arc<Subscription>> {
        self.read(|index| index.all(table, event))
    }

    /// Binds subscriptions to a new version of the table.
    pub(crate) fn rebind(&self, table: &Table) {
        self.write(|index| index.rebind(table));
    }

    /// The published tables, as last loaded.
    pub(crate) fn watch_published(&self) -> watch::Receiver<Arc<Published>> {
        self.published.subscribe()
    }

    pub(crate) fn set_published(&self, published: &Arc<Published>) {
        self.published.send_if_modified(|known| {
            let has_changed = known != published;
            if has_changed {
                *known = published.clone();
            }
            has_changed
        });
    }

    /// Adds entries, each bound to a table.
    fn add(self: &Arc<Self>, subscriber: &Arc<Subscriber>, entries: &[BoundEntry]) -> Registered {
        let ids = self.write(|index| {
            let add = |(entry, request, table): &BoundEntry| {
                let (subscriber, request) = (subscriber.clone(), request.clone());
                let make = |id| Subscription::new(id, subscriber, *entry, request, table);
                (table.oid, index.add(table, make))
            };
            entries.iter().map(add).collect()
        });
        self.gauge.increment(entries.len() as f64);
        Registered {
            subscriptions: self.clone(),
            ids,
        }
    }

    fn read<T>(&self, query: impl FnOnce(&Index) -> T) -> T {
        query(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Index) -> T) -> T {
        change(&mut self.index.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The id of an entry, what it requests, and a table that matches.
type BoundEntry = (u64, Arc<ChangeRequest>, Arc<Table>);

/// Subscriptions that are in the index as long as this lives.
struct Registered {
    subscriptions: Arc<Subscriptions>,
    /// Table oids and subscription ids.
    ids: Vec<(u32, u64)>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.subscriptions.write(|index| {
            for (table, id) in &self.ids {
                index.remove(*table, *id);
            }
        });
        self.subscriptions.gauge.decrement(self.ids.len() as f64);
    }
}
