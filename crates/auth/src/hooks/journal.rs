//! The last calls of a project's hooks on this node, for operators. Payloads are not kept.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use plinth_project::HookCall;

const MAX_CALLS: usize = 20;

/// The last calls.
#[derive(Default)]
pub(crate) struct Journal(Mutex<VecDeque<HookCall>>);

impl Journal {
    pub(super) fn add(&self, call: HookCall) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == MAX_CALLS {
            calls.pop_back();
        }
        calls.push_front(call);
    }

    pub(crate) fn newest_first(&self) -> Vec<HookCall> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_calls_are_kept() {
        let journal = Journal::default();
        for number in 0..MAX_CALLS + 5 {
            journal.add(HookCall {
                at: String::new(),
                hook: number.to_string(),
                target: String::new(),
                milliseconds: 0,
                error: None,
            });
        }

        let calls = journal.newest_first();

        assert_eq!(calls.len(), MAX_CALLS);
        assert_eq!((&*calls[0].hook, &*calls[MAX_CALLS - 1].hook), ("24", "5"));
    }
}
