//! The milestones of one project. Every node has its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use time::OffsetDateTime;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard};

use super::Milestones;
use crate::model::user_list::{Order, UserOrder};

/// Wrong milestones are noticed when rows are counted, which happens at least twice a minute. What
/// counting does not show are rows whose `created_at` was changed, and as many inserts as deletes.
const TTL: Duration = Duration::from_secs(10 * 60);
/// Audiences come from requests, so their number must be bounded.
const MAX_LISTS: usize = 10;

/// Milestones by list.
#[derive(Default)]
pub(crate) struct MilestoneCache {
    lists: Mutex<HashMap<(String, Order), Entry>>,
    building: AsyncMutex<()>,
}

struct Entry {
    milestones: Arc<Milestones>,
    created_at: OffsetDateTime,
}

impl MilestoneCache {
    /// The milestones of a list.
    pub(in crate::admin) fn get(
        &self,
        list: UserOrder<'_>,
        now: OffsetDateTime,
    ) -> Option<Arc<Milestones>> {
        self.with_lists(|lists| {
            let entry = lists.get(&key(list)).filter(|entry| entry.is_fresh(now))?;
            Some(Arc::clone(&entry.milestones))
        })
    }

    /// The lock of the one request that builds milestones; `None` while another one has it.
    pub(in crate::admin) fn try_build_lock(&self) -> Option<MutexGuard<'_, ()>> {
        self.building.try_lock().ok()
    }

    /// Caches the first milestones of a list; evicts the oldest list if there are too many.
    pub(in crate::admin) fn insert(
        &self,
        list: UserOrder<'_>,
        milestones: Arc<Milestones>,
        now: OffsetDateTime,
    ) {
        let entry = Entry {
            milestones,
            created_at: now,
        };
        self.with_lists(|lists| {
            lists.insert(key(list), entry);
            let oldest = lists.iter().min_by_key(|(_, entry)| entry.created_at);
            let oldest = oldest.map(|(list, _)| list.clone());
            if let Some(oldest) = oldest.filter(|_| lists.len() > MAX_LISTS) {
                lists.remove(&oldest);
            }
        });
    }

    /// Replaces milestones by better ones, unless others were cached in the meantime.
    pub(in crate::admin) fn replace(
        &self,
        list: UserOrder<'_>,
        old: &Arc<Milestones>,
        better: Arc<Milestones>,
    ) {
        self.with_lists(|lists| {
            if let Some(entry) = lists.get_mut(&key(list))
                && Arc::ptr_eq(&entry.milestones, old)
            {
                entry.milestones = better;
            }
        });
    }

    /// Evicts milestones, unless others were cached in the meantime.
    pub(in crate::admin) fn evict(&self, list: UserOrder<'_>, milestones: &Arc<Milestones>) {
        self.with_lists(|lists| {
            let key = key(list);
            let entry = lists.get(&key);
            if entry.is_some_and(|entry| Arc::ptr_eq(&entry.milestones, milestones)) {
                lists.remove(&key);
            }
        });
    }

    fn with_lists<T>(&self, act: impl FnOnce(&mut HashMap<(String, Order), Entry>) -> T) -> T {
        act(&mut self.lists.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn key(list: UserOrder<'_>) -> (String, Order) {
    (list.aud.to_owned(), list.order)
}

impl Entry {
    fn is_fresh(&self, now: OffsetDateTime) -> bool {
        now >= self.created_at && now < self.created_at + TTL
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;
    use uuid::Uuid;

    use super::*;
    use crate::model::user_list::Position;

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);
    const LIST: UserOrder<'_> = UserOrder {
        aud: "a",
        order: Order::NewestFirst,
    };

    fn milestones() -> Arc<Milestones> {
        let row = |hour| Position {
            created_at: NOW - time::Duration::hours(hour),
            id: Uuid::nil(),
        };
        let rows = (1..=10).map(row).collect();
        Arc::new(Milestones::new(Order::NewestFirst, rows).expect("some rows"))
    }

    fn is_cached(cache: &MilestoneCache, milestones: &Arc<Milestones>) -> bool {
        let found = cache.get(LIST, NOW);
        found.is_some_and(|found| Arc::ptr_eq(&found, milestones))
    }

    #[test]
    fn they_are_cached_for_a_while_for_one_list() {
        let cache = MilestoneCache::default();
        let milestones = milestones();
        cache.insert(LIST, Arc::clone(&milestones), NOW);

        assert!(is_cached(&cache, &milestones));
        assert_eq!(cache.get(LIST, NOW + TTL), None);
        let order = Order::OldestFirst;
        assert_eq!(cache.get(UserOrder { order, ..LIST }, NOW), None);
        assert_eq!(cache.get(UserOrder { aud: "b", ..LIST }, NOW), None);
    }

    #[test]
    fn one_request_at_a_time_builds_them() {
        let cache = MilestoneCache::default();
        let lock = cache.try_build_lock();
        assert!(lock.is_some() && cache.try_build_lock().is_none());
        drop(lock);
        assert!(cache.try_build_lock().is_some());
    }

    #[test]
    fn outdated_milestones_replace_and_evict_nothing() {
        let cache = MilestoneCache::default();
        let [old, better, best] = [milestones(), milestones(), milestones()];
        cache.insert(LIST, Arc::clone(&old), NOW);
        cache.replace(LIST, &old, Arc::clone(&better));
        assert!(is_cached(&cache, &better));

        cache.replace(LIST, &old, best);
        cache.evict(LIST, &old);
        assert!(is_cached(&cache, &better));

        cache.evict(LIST, &better);
        assert_eq!(cache.get(LIST, NOW), None);
    }

    #[test]
    fn the_number_of_lists_is_bounded() {
        fn list(aud: &str) -> UserOrder<'_> {
            UserOrder { aud, ..LIST }
        }

        let cache = MilestoneCache::default();
        for number in 0..100 {
            let now = NOW + Duration::from_secs(number);
            cache.insert(list(&number.to_string()), milestones(), now);
        }

        assert_eq!(cache.with_lists(|lists| lists.len()), MAX_LISTS);
        let now = NOW + Duration::from_secs(100);
        assert!(cache.get(list("99"), now).is_some());
        assert_eq!(cache.get(list("89"), now), None);
    }
}
