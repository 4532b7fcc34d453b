//! Subscriptions by table, and by value where a filter names it: a row finds those who wait for
//! exactly it without looking at the others.

use std::{collections::HashMap, sync::Arc};

use plinth_db::replication::pgoutput::Value;

use super::Subscription;
use crate::changes::{
    Event, Table,
    decide::{Condition, EqualityKey},
};

#[derive(Debug, Default)]
pub(super) struct Index {
    tables: HashMap<u32, OfTable>,
    last_number: u64,
}

type Numbered = HashMap<u64, Arc<Subscription>>;

#[derive(Debug, Default)]
struct OfTable {
    all: Numbered,
    /// Those without a filter that names values.
    unindexed: Numbered,
    by_column: HashMap<String, HashMap<EqualityKey, Numbered>>,
}

impl Index {
    pub(super) fn has(&self, table: u32) -> bool {
        self.tables.contains_key(&table)
    }

    pub(super) fn add(&mut self, table: &Table, make: impl FnOnce(u64) -> Subscription) -> u64 {
        self.last_number += 1;
        let number = self.last_number;
        let of_table = self.tables.entry(table.oid).or_default();
        of_table.add(Arc::new(make(number)));
        number
    }

    pub(super) fn remove(&mut self, table: u32, number: u64) {
        let Some(of_table) = self.tables.get_mut(&table) else {
            return;
        };
        of_table.remove(number);
        if of_table.all.is_empty() {
            self.tables.remove(&table);
        }
    }

    pub(super) fn rebind(&mut self, table: &Table) {
        let Some(of_table) = self.tables.get_mut(&table.oid) else {
            return;
        };
        let old = std::mem::take(of_table);
        for subscription in old.all.values() {
            of_table.add(Arc::new(subscription.rebound(table)));
        }
    }

    pub(super) fn all(&self, table: u32, event: Event) -> Vec<Arc<Subscription>> {
        let all = self
            .tables
            .get(&table)
            .map(|of_table| of_table.all.values());
        let all = all.into_iter().flatten();
        let mut found: Vec<_> = all.filter(|one| one.is_about(event)).cloned().collect();
        found.sort_unstable_by_key(|subscription| subscription.number);
        found
    }

    pub(super) fn candidates<'v>(
        &self,
        table: &Table,
        event: Event,
        value: impl Fn(&str) -> Option<&'v Value>,
    ) -> Vec<Arc<Subscription>> {
        let Some(of_table) = self.tables.get(&table.oid) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut take = |numbered: &Numbered| {
            let fitting = numbered
                .values()
                .filter(|one| one.is_about(event) && one.is_whole());
            found.extend(fitting.cloned());
        };
        take(&of_table.unindexed);
        for (name, by_value) in &of_table.by_column {
            let Some(Value::Text(text)) = value(name) else {
                continue;
            };
            let text = str::from_utf8(text).ok();
            let key = text.and_then(|text| Condition::key_of(table.column(name)?, text));
            match key {
                Some(key) => by_value.get(&key).into_iter().for_each(&mut take),
                // Only the database can tell what it is equal to.
                None => by_value.values().for_each(&mut take),
            }
        }
        // Whoever asked for several values may have been found twice.
        found.sort_unstable_by_key(|subscription| subscription.number);
        found.dedup_by_key(|subscription| subscription.number);
        found
    }
}

impl OfTable {
    fn add(&mut self, subscription: Arc<Subscription>) {
        let number = subscription.number;
        match values(&subscription) {
            Some((column, keys)) => {
                let by_value = self.by_column.entry(column.to_owned()).or_default();
                for key in keys {
                    let numbered = by_value.entry(key).or_default();
                    numbered.insert(number, subscription.clone());
                }
            }
            None => _ = self.unindexed.insert(number, subscription.clone()),
        }
        self.all.insert(number, subscription);
    }

    fn remove(&mut self, number: u64) {
        let Some(subscription) = self.all.remove(&number) else {
            return;
        };
        self.unindexed.remove(&number);
        let Some((column, keys)) = values(&subscription) else {
            return;
        };
        let Some(by_value) = self.by_column.get_mut(column) else {
            return;
        };
        for key in keys {
            if let Some(numbered) = by_value.get_mut(&key) {
                numbered.remove(&number);
                if numbered.is_empty() {
                    by_value.remove(&key);
                }
            }
        }
        if by_value.is_empty() {
            self.by_column.remove(column);
        }
    }
}

/// The first column for which a subscription names all values that it waits for.
fn values(subscription: &Subscription) -> Option<(&str, Vec<EqualityKey>)> {
    subscription.conditions.iter().find_map(|condition| {
        let keys = condition.only_values()?;
        Some((condition.filter().column.as_str(), keys))
    })
}
