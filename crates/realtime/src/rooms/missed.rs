//! What is told while somebody who wants the past is on their way in (§6.5).
//!
//! The past is read before they enter. What the database sends in between stands in neither, so it is
//! kept for them here.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::protocol::Broadcast;

/// Reading the past takes milliseconds. Whoever misses more than this has to come again.
const MOST: usize = 1_000;
const MOST_BYTES: usize = 4 << 20;

/// A message of the database and its number.
pub(super) type Numbered = (Box<str>, Broadcast);

/// One who is on their way.
#[derive(Debug, Default)]
pub(crate) struct Missed(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    messages: Vec<Numbered>,
    bytes: usize,
    is_too_much: bool,
}

impl Missed {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: &str, broadcast: &Broadcast) {
        let mut kept = self.kept();
        kept.bytes += broadcast.len();
        kept.is_too_much |= kept.messages.len() >= MOST || kept.bytes > MOST_BYTES;
        match kept.is_too_much {
            true => kept.messages = Vec::new(),
            false => kept.messages.push((id.into(), broadcast.clone())),
        }
    }

    /// Whether not all of it could be kept.
    pub(crate) fn is_too_much(&self) -> bool {
        self.kept().is_too_much
    }

    /// All of it, in order.
    pub(super) fn take(&self) -> Vec<Numbered> {
        mem::take(&mut self.kept().messages)
    }
}

/// Everybody who is on their way to a room. They are forgotten when they let go.
#[derive(Debug, Default)]
pub(super) struct OnTheirWay(Mutex<Vec<Weak<Missed>>>);

impl OnTheirWay {
    fn all(&self) -> MutexGuard<'_, Vec<Weak<Missed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self) -> Arc<Missed> {
        let missed = Arc::default();
        let mut all = self.all();
        all.retain(|missed| missed.strong_count() > 0);
        all.push(Arc::downgrade(&missed));
        missed
    }

    pub(super) fn miss(&self, id: &str, broadcast: &Broadcast) {
        self.all().retain(|missed| match missed.upgrade() {
            Some(missed) => {
                missed.add(id, broadcast);
                true
            }
            None => false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_not_kept_in_part() {
        let keep = |count: usize, bytes: usize| {
            let all = OnTheirWay::default();
            let missed = all.add();
            for number in 0..count {
                let broadcast = Broadcast::Verbatim("x".repeat(bytes).into());
                all.miss(&number.to_string(), &broadcast);
            }
            (missed.is_too_much(), missed.take().len())
        };

        assert_eq!(keep(3, 10), (false, 3));
        assert_eq!(keep(MOST, 1), (false, MOST));
        assert_eq!(keep(MOST + 1, 1), (true, 0));
        assert_eq!(keep(5, 1 << 20), (true, 0));
    }

    #[test]
    fn nobody_is_kept_for_who_does_not_come() {
        let all = OnTheirWay::default();
        drop(all.add());
        all.miss("1", &Broadcast::Verbatim("{}".into()));
        assert!(all.all().is_empty());
    }
}
