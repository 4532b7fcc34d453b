//! The milestones that one project has in memory. Every process has its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use time::OffsetDateTime;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard};

use super::{super::order::Order, Milestones};

/// When rows are counted, which is at least twice a minute, wrong milestones are noticed. What
/// counting does not tell is rows that were given another time, or that others took the place of.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// Audiences come from outside, so what is remembered of them has an end.
const MOST_LISTS: usize = 10;

/// By what they are milestones of.
#[derive(Default)]
pub(crate) struct KeptMilestones {
    lists: Mutex<HashMap<(String, Order), Kept>>,
    making: AsyncMutex<()>,
}

/// Users of an audience, in an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::admin) struct List<'a> {
    pub(in crate::admin) aud: &'a str,
    pub(in crate::admin) order: Order,
}

struct Kept {
    milestones: Arc<Milestones>,
    begun_at: OffsetDateTime,
}

impl KeptMilestones {
    /// What there is of a list.
    pub(in crate::admin) fn find(
        &self,
        list: List<'_>,
        now: OffsetDateTime,
    ) -> Option<Arc<Milestones>> {
        self.with(|lists| {
            let kept = lists.get(&list.key()).filter(|kept| kept.is_good(now))?;
            Some(Arc::clone(&kept.milestones))
        })
    }

    /// The right to make some, unless somebody else has it.
    pub(in crate::admin) fn turn_to_make(&self) -> Option<MutexGuard<'_, ()>> {
        self.making.try_lock().ok()
    }

    /// Begins with the first ones of a list.
    pub(in crate::admin) fn begin(
        &self,
        list: List<'_>,
        milestones: Arc<Milestones>,
        now: OffsetDateTime,
    ) {
        let kept = Kept {
            milestones,
            begun_at: now,
        };
        self.with(|lists| {
            lists.insert(list.key(), kept);
            let oldest = lists.iter().min_by_key(|(_, kept)| kept.begun_at);
            let oldest = oldest.map(|(list, _)| list.clone());
            if let Some(oldest) = oldest.filter(|_| lists.len() > MOST_LISTS) {
                lists.remove(&oldest);
            }
        });
    }

    /// Puts better ones in the place of others, unless those are no longer there.
    pub(in crate::admin) fn replace(
        &self,
        list: List<'_>,
        old: &Arc<Milestones>,
        better: Arc<Milestones>,
    ) {
        self.with(|lists| {
            if let Some(kept) = lists.get_mut(&list.key())
                && Arc::ptr_eq(&kept.milestones, old)
            {
                kept.milestones = better;
            }
        });
    }

    /// Forgets them, unless others are in their place.
    pub(in crate::admin) fn forget(&self, list: List<'_>, milestones: &Arc<Milestones>) {
        self.with(|lists| {
            let key = list.key();
            let kept = lists.get(&key);
            if kept.is_some_and(|kept| Arc::ptr_eq(&kept.milestones, milestones)) {
                lists.remove(&key);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<(String, Order), Kept>) -> T) -> T {
        act(&mut self.lists.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl List<'_> {
    fn key(self) -> (String, Order) {
        (self.aud.to_owned(), self.order)
    }
}

impl Kept {
    fn is_good(&self, now: OffsetDateTime) -> bool {
        now >= self.begun_at && now < self.begun_at + KEPT
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;
    use uuid::Uuid;

    use super::{super::super::cursor::Position, *};

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);
    const LIST: List<'_> = List {
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

    fn is_kept(kept: &KeptMilestones, milestones: &Arc<Milestones>) -> bool {
        let found = kept.find(LIST, NOW);
        found.is_some_and(|found| Arc::ptr_eq(&found, milestones))
    }

    #[test]
    fn they_are_kept_for_a_while_for_one_list() {
        let kept = KeptMilestones::default();
        let milestones = milestones();
        kept.begin(LIST, Arc::clone(&milestones), NOW);

        assert!(is_kept(&kept, &milestones));
        assert_eq!(kept.find(LIST, NOW + KEPT), None);
        let order = Order::OldestFirst;
        assert_eq!(kept.find(List { order, ..LIST }, NOW), None);
        assert_eq!(kept.find(List { aud: "b", ..LIST }, NOW), None);
    }

    #[test]
    fn one_at_a_time_makes_them() {
        let kept = KeptMilestones::default();
        let turn = kept.turn_to_make();
        assert!(turn.is_some() && kept.turn_to_make().is_none());
        drop(turn);
        assert!(kept.turn_to_make().is_some());
    }

    #[test]
    fn who_knows_about_others_changes_nothing() {
        let kept = KeptMilestones::default();
        let [old, better, best] = [milestones(), milestones(), milestones()];
        kept.begin(LIST, Arc::clone(&old), NOW);
        kept.replace(LIST, &old, Arc::clone(&better));
        assert!(is_kept(&kept, &better));

        kept.replace(LIST, &old, best);
        kept.forget(LIST, &old);
        assert!(is_kept(&kept, &better));

        kept.forget(LIST, &better);
        assert_eq!(kept.find(LIST, NOW), None);
    }

    #[test]
    fn audiences_without_end_take_no_memory_without_end() {
        fn list(aud: &str) -> List<'_> {
            List { aud, ..LIST }
        }

        let kept = KeptMilestones::default();
        for number in 0..100 {
            let now = NOW + Duration::from_secs(number);
            kept.begin(list(&number.to_string()), milestones(), now);
        }

        assert_eq!(kept.with(|lists| lists.len()), MOST_LISTS);
        let now = NOW + Duration::from_secs(100);
        assert!(kept.find(list("99"), now).is_some());
        assert_eq!(kept.find(list("89"), now), None);
    }
}
