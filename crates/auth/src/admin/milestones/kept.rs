//! The milestones that one project has in memory. Every process has its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use time::OffsetDateTime;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard};

use super::{Milestones, store::Counted};

/// To make them anew is to read the whole list. What they miss when nobody counts is only what
/// balances: as many rows gone as others come, or rows that were given another time.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// Until it is tried again where nearly all rows were too young for it.
const RETRIED: Duration = Duration::from_secs(30);
/// How many rows more may be outside of them before others are made: those are counted for each
/// page.
const MOST_OUTSIDE: u64 = 10_000;
/// Audiences come from outside, so what is remembered of them has an end.
const MOST_LISTS: usize = 10;

/// By audience.
#[derive(Default)]
pub(crate) struct KeptMilestones {
    lists: Mutex<HashMap<String, Kept>>,
    making: AsyncMutex<()>,
}

struct Kept {
    /// None if there were too few rows.
    milestones: Option<Arc<Milestones>>,
    outside: u64,
    made_at: OffsetDateTime,
}

impl KeptMilestones {
    /// What there is, however old.
    pub(in crate::admin) fn find(&self, aud: &str) -> Option<Arc<Milestones>> {
        self.with(|lists| lists.get(aud)?.milestones.clone())
    }

    /// Whether it is time to make others.
    pub(in crate::admin) fn are_due(&self, aud: &str, now: OffsetDateTime) -> bool {
        self.with(|lists| lists.get(aud).is_none_or(|kept| !kept.is_good(now)))
    }

    /// The right to make them, if it is time to and nobody else is at it.
    pub(in crate::admin) fn turn_to_make(
        &self,
        aud: &str,
        now: OffsetDateTime,
    ) -> Option<MutexGuard<'_, ()>> {
        let turn = self.making.try_lock().ok()?;
        self.are_due(aud, now).then_some(turn)
    }

    pub(in crate::admin) fn keep(
        &self,
        aud: &str,
        milestones: Option<Milestones>,
        total: u64,
        now: OffsetDateTime,
    ) {
        let span = milestones.as_ref().map_or(0, Milestones::span);
        let kept = Kept {
            milestones: milestones.map(Arc::new),
            outside: total.saturating_sub(span),
            made_at: now,
        };
        self.with(|lists| {
            lists.insert(aud.to_owned(), kept);
            let oldest = lists.iter().min_by_key(|(_, kept)| kept.made_at);
            let oldest = oldest.map(|(aud, _)| aud.clone());
            if let Some(oldest) = oldest.filter(|_| lists.len() > MOST_LISTS) {
                lists.remove(&oldest);
            }
        });
    }

    /// Puts corrected ones in the place of others, unless those are no longer there.
    pub(in crate::admin) fn replace(
        &self,
        aud: &str,
        wrong: &Arc<Milestones>,
        right: Arc<Milestones>,
    ) {
        self.with(|lists| {
            if let Some(kept) = lists.get_mut(aud)
                && kept.has(wrong)
            {
                kept.milestones = Some(right);
            }
        });
    }

    /// Forgets them if a count of all rows does not agree.
    pub(in crate::admin) fn check(
        &self,
        aud: &str,
        milestones: &Arc<Milestones>,
        counted: &Counted,
    ) {
        self.with(|lists| {
            let Some(kept) = lists.get(aud).filter(|kept| kept.has(milestones)) else {
                return;
            };
            let outside = counted.total.saturating_sub(counted.spanned);
            let is_right = counted.spanned == milestones.span();
            if !is_right || outside > kept.outside + MOST_OUTSIDE {
                lists.remove(aud);
            }
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<String, Kept>) -> T) -> T {
        act(&mut self.lists.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn is_good(&self, now: OffsetDateTime) -> bool {
        let time = match self.milestones {
            Some(_) => KEPT,
            None => RETRIED,
        };
        now >= self.made_at && now < self.made_at + time
    }

    fn has(&self, milestones: &Arc<Milestones>) -> bool {
        let own = self.milestones.as_ref();
        own.is_some_and(|own| Arc::ptr_eq(own, milestones))
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;
    use uuid::Uuid;

    use super::{super::super::cursor::Position, *};

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);
    /// Of ten milestones.
    const SPAN: u64 = 9 * 250;

    fn milestones() -> Option<Milestones> {
        let row = |hour| Position {
            created_at: NOW - time::Duration::hours(hour),
            id: Uuid::nil(),
        };
        Milestones::new((1..=10).map(row).collect(), 250)
    }

    fn kept(outside: u64) -> KeptMilestones {
        let kept = KeptMilestones::default();
        kept.keep("a", milestones(), SPAN + outside, NOW);
        kept
    }

    #[test]
    fn they_are_made_by_one_at_a_time_and_anew_after_a_while() {
        let kept = kept(0);
        assert!(kept.turn_to_make("a", NOW).is_none());
        let turn = kept.turn_to_make("b", NOW);
        assert!(turn.is_some());
        assert!(kept.turn_to_make("b", NOW).is_none());
        drop(turn);

        let later = NOW + KEPT;
        assert!(kept.turn_to_make("a", later).is_some());
        assert!(kept.find("a").is_some(), "while others are made");
    }

    #[test]
    fn that_there_are_too_few_rows_is_remembered_too() {
        let kept = KeptMilestones::default();
        kept.keep("a", None, 20_000, NOW);

        assert_eq!(kept.find("a"), None);
        assert!(!kept.are_due("a", NOW));
        assert!(kept.are_due("a", NOW + RETRIED));
    }

    #[test]
    fn a_count_that_differs_makes_them_forgotten() {
        let check = |spanned, outside, is_kept: bool| {
            let kept = kept(300);
            let milestones = kept.find("a").expect("they were kept");
            let total = spanned + outside;
            kept.check("a", &milestones, &Counted { total, spanned });
            assert_eq!(kept.find("a").is_some(), is_kept, "{spanned} and {outside}");
        };
        check(SPAN, 300, true);
        check(SPAN, 300 + MOST_OUTSIDE, true);
        check(SPAN, 301 + MOST_OUTSIDE, false);
        check(SPAN - 1, 300, false);
        check(SPAN + 1, 300, false);
    }

    #[test]
    fn whoever_learned_about_others_changes_nothing() {
        let kept = kept(0);
        let old = kept.find("a").expect("they were kept");
        let right = Arc::new(Milestones::clone(&old));
        kept.replace("a", &old, Arc::clone(&right));
        let found = kept.find("a").expect("they were replaced");
        assert!(Arc::ptr_eq(&found, &right));

        kept.replace("a", &old, Arc::new(Milestones::clone(&old)));
        let counted = Counted {
            total: 0,
            spanned: 0,
        };
        kept.check("a", &old, &counted);
        let found = kept.find("a").expect("they are still kept");
        assert!(Arc::ptr_eq(&found, &right));
    }

    #[test]
    fn audiences_without_end_take_no_memory_without_end() {
        let kept = KeptMilestones::default();
        for number in 0..100 {
            let now = NOW + Duration::from_secs(number);
            kept.keep(&number.to_string(), milestones(), SPAN, now);
        }

        assert_eq!(kept.with(|lists| lists.len()), MOST_LISTS);
        assert!(kept.find("99").is_some() && kept.find("89").is_none());
    }
}
