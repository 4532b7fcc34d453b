//! Who wants to hear of which rows (§9.2, §14.2).
//!
//! A channel subscribes with a task of its own ([`Subscribing`]), which asks the database whether
//! its wishes make sense, enters them in the index and stays as long as the channel: when the
//! published tables change, it does all that again.

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
pub(crate) use subscribe::{Entry, Subscribing};

use self::index::Index;
use crate::{
    changes::{ChangeRequest, Event, Table, decide::Condition},
    rooms::Member,
};

/// A channel that subscribes, and whose rows it may see.
#[derive(Debug)]
pub(crate) struct Subscriber {
    /// No two of a process share one.
    pub(crate) number: u64,
    pub(crate) topic: Arc<str>,
    pub(crate) member: Arc<Member>,
    pub(crate) caller: Caller,
}

impl Subscriber {
    pub(crate) fn new(topic: Arc<str>, member: Arc<Member>, caller: Caller) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NEXT.fetch_add(1, Relaxed),
            topic,
            member,
            caller,
        }
    }
}

/// What a channel wants to hear of one table.
#[derive(Debug)]
pub(crate) struct Subscription {
    number: u64,
    pub(crate) subscriber: Arc<Subscriber>,
    /// The number by which the client knows the wish.
    pub(crate) entry: u64,
    request: Arc<ChangeRequest>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) select: Option<HashSet<String>>,
}

impl Subscription {
    fn new(
        number: u64,
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
            number,
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

    /// The same for a table that has changed.
    fn rebound(&self, table: &Table) -> Self {
        let (subscriber, request) = (self.subscriber.clone(), self.request.clone());
        Self::new(self.number, subscriber, self.entry, request, table)
    }

    /// Whether it can be decided at all: a filter's column may be gone.
    fn is_whole(&self) -> bool {
        self.conditions.len() == self.request.filters.len()
    }

    fn is_about(&self, event: Event) -> bool {
        matches!(self.request.event, Event::All) || self.request.event == event
    }
}

/// All subscriptions of a project.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    index: RwLock<Index>,
    published: watch::Sender<Arc<Published>>,
    /// How many there are.
    level: Gauge,
}

impl Subscriptions {
    /// None yet; how many there are is told to `level`.
    pub(crate) fn counted_by(level: Gauge) -> Self {
        Self {
            index: RwLock::default(),
            published: watch::Sender::default(),
            level,
        }
    }

    /// Whether anybody wants to hear of a table.
    pub(crate) fn has(&self, table: u32) -> bool {
        self.read(|index| index.has(table))
    }

    /// Whether nobody wants to hear of any.
    pub(crate) fn is_idle(&self) -> bool {
        self.published.receiver_count() == 0
    }

    /// Those whose filters may fit a row, by its values.
    pub(crate) fn candidates<'v>(
        &self,
        table: &Table,
        event: Event,
        value: impl Fn(&str) -> Option<&'v Value>,
    ) -> Vec<Arc<Subscription>> {
        self.read(|index| index.candidates(table, event, value))
    }

    /// All that are about the event, whatever their filters.
    pub(crate) fn all(&self, table: u32, event: Event) -> Vec<Arc<Subscription>> {
        self.read(|index| index.all(table, event))
    }

    /// The table looks different now.
    pub(crate) fn rebind(&self, table: &Table) {
        self.write(|index| index.rebind(table));
    }

    /// What is published, as far as is known; and news of it.
    pub(crate) fn published(&self) -> watch::Receiver<Arc<Published>> {
        self.published.subscribe()
    }

    /// This is what is published now.
    pub(crate) fn learn(&self, published: &Arc<Published>) {
        self.published.send_if_modified(|known| {
            let is_news = known != published;
            if is_news {
                *known = published.clone();
            }
            is_news
        });
    }

    /// Enters wishes, each bound to a table.
    fn add(
        self: &Arc<Self>,
        subscriber: &Arc<Subscriber>,
        wishes: &[(u64, Arc<ChangeRequest>, Arc<Table>)],
    ) -> Registered {
        let numbers = self.write(|index| {
            let add = |(entry, request, table): &(u64, Arc<ChangeRequest>, Arc<Table>)| {
                let (subscriber, request) = (subscriber.clone(), request.clone());
                let make = |number| Subscription::new(number, subscriber, *entry, request, table);
                (table.oid, index.add(table, make))
            };
            wishes.iter().map(add).collect()
        });
        self.level.increment(wishes.len() as f64);
        Registered {
            subscriptions: self.clone(),
            numbers,
        }
    }

    fn read<T>(&self, ask: impl FnOnce(&Index) -> T) -> T {
        ask(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Index) -> T) -> T {
        change(&mut self.index.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Wishes that are heard as long as this lives.
struct Registered {
    subscriptions: Arc<Subscriptions>,
    /// By table.
    numbers: Vec<(u32, u64)>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.subscriptions.write(|index| {
            for (table, number) in &self.numbers {
                index.remove(*table, *number);
            }
        });
        self.subscriptions
            .level
            .decrement(self.numbers.len() as f64);
    }
}
