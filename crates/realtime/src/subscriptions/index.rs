//! Subscriptions by table, and by value where a filter lists the values that can match, so that a row
//! finds its subscriptions without evaluating all filters.

use std::{collections::HashMap, sync::Arc};

use plinth_db::replication::pgoutput::Value;

use super::Subscription;
use crate::changes::{
    Event, Table,
    decide::{Condition, EqualityKey},
};

#[derive(Debug, Default)]
pub(super) struct Index {
    tables: HashMap<u32, TableIndex>,
    last_id: u64,
}

type ById = HashMap<u64, Arc<Subscription>>;

#[derive(Debug, Default)]
struct TableIndex {
    all: ById,
    /// Without a filter that lists values.
    unindexed: ById,
    by_column: HashMap<String, HashMap<EqualityKey, ById>>,
}

impl Index {
    pub(super) fn has(&self, table: u32) -> bool {
        self.tables.contains_key(&table)
    }

    pub(super) fn add(&mut self, table: &Table, make: impl FnOnce(u64) -> Subscription) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let index = self.tables.entry(table.oid).or_default();
        index.add(Arc::new(make(id)));
        id
    }

    pub(super) fn remove(&mut self, table: u32, id: u64) {
        let Some(index) = self.tables.get_mut(&table) else {
            return;
        };
        index.remove(id);
        if index.all.is_empty() {
            self.tables.remove(&table);
        }
    }

    pub(super) fn rebind(&mut self, table: &Table) {
        let Some(index) = self.tables.get_mut(&table.oid) else {
            return;
        };
        let old = std::mem::take(index);
        for subscription in old.all.values() {
            index.add(Arc::new(subscription.rebound(table)));
        }
    }

    pub(super) fn all(&self, table: u32, event: Event) -> Vec<Arc<Subscription>> {
        let all = self.tables.get(&table).map(|index| index.all.values());
        let all = all.into_iter().flatten();
        let mut found: Vec<_> = all.filter(|one| one.includes(event)).cloned().collect();
        found.sort_unstable_by_key(|subscription| subscription.id);
        found
    }

    pub(super) fn candidates<'v>(
        &self,
        table: &Table,
        event: Event,
        value: impl Fn(&str) -> Option<&'v Value>,
    ) -> Vec<Arc<Subscription>> {
        let Some(index) = self.tables.get(&table.oid) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut take = |by_id: &ById| {
            let matching = by_id
                .values()
                .filter(|one| one.includes(event) && one.has_all_columns());
            found.extend(matching.cloned());
        };
        take(&index.unindexed);
        for (name, by_value) in &index.by_column {
            let Some(Value::Text(text)) = value(name) else {
                continue;
            };
            let text = str::from_utf8(text).ok();
            let key = text.and_then(|text| Condition::key_of(table.column(name)?, text));
            match key {
                Some(key) => by_value.get(&key).into_iter().for_each(&mut take),
                // Only the database knows which values it equals.
                None => by_value.values().for_each(&mut take),
            }
        }
        // A subscription with several values may have been found twice.
        found.sort_unstable_by_key(|subscription| subscription.id);
        found.dedup_by_key(|subscription| subscription.id);
        found
    }
}

impl TableIndex {
    fn add(&mut self, subscription: Arc<Subscription>) {
        let id = subscription.id;
        match listed_values(&subscription) {
            Some((column, keys)) => {
                let by_value = self.by_column.entry(column.to_owned()).or_default();
                for key in keys {
                    let by_id = by_value.entry(key).or_default();
                    by_id.insert(id, subscription.clone());
                }
            }
            None => _ = self.unindexed.insert(id, subscription.clone()),
        }
        self.all.insert(id, subscription);
    }

    fn remove(&mut self, id: u64) {
        let Some(subscription) = self.all.remove(&id) else {
            return;
        };
        self.unindexed.remove(&id);
        let Some((column, keys)) = listed_values(&subscription) else {
            return;
        };
        let Some(by_value) = self.by_column.get_mut(column) else {
            return;
        };
        for key in keys {
            if let Some(by_id) = by_value.get_mut(&key) {
                by_id.remove(&id);
                if by_id.is_empty() {
                    by_value.remove(&key);
                }
            }
        }
        if by_value.is_empty() {
            self.by_column.remove(column);
        }
    }
}

/// The first column of which a subscription lists all values that can match.
fn listed_values(subscription: &Subscription) -> Option<(&str, Vec<EqualityKey>)> {
    subscription.conditions.iter().find_map(|condition| {
        let keys = condition.only_values()?;
        Some((condition.filter().column.as_str(), keys))
    })
}
