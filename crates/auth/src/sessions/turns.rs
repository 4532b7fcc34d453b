//! Who refreshes first. Many tabs of one browser show the same token at the same moment; in this
//! process they queue here, and hold no connection while they wait. Between processes the locks
//! of the database decide.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    time::{Instant, timeout_at},
};

/// The queues of one project, by token.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<AsyncMutex<()>>>>);

/// The right to go on; the next in the queue has it when this is dropped.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    token: &'a str,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits until everybody who came before is done; `None` if that takes too long.
    pub(super) async fn wait<'a>(&'a self, token: &'a str, deadline: Instant) -> Option<Turn<'a>> {
        let queue = self.with(|queues| queues.entry(token.to_owned()).or_default().clone());
        let mut turn = Turn {
            turns: self,
            token,
            guard: None,
        };
        turn.guard = Some(timeout_at(deadline, queue.lock_owned()).await.ok()?);
        Some(turn)
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<String, Arc<AsyncMutex<()>>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.guard = None;
        self.turns.with(|queues| {
            // Nobody else waits or works: only the map has it.
            let is_over = queues
                .get(self.token)
                .is_some_and(|queue| Arc::strong_count(queue) == 1);
            if is_over {
                queues.remove(self.token);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_and_nothing_is_left() {
        let turns = Turns::default();
        let soon = || Instant::now() + Duration::from_millis(20);

        let first = turns.wait("a", soon()).await;
        assert!(first.is_some());
        assert!(turns.wait("a", soon()).await.is_none(), "must wait");
        assert!(turns.wait("b", soon()).await.is_some(), "another token");
        drop(first);
        assert!(turns.wait("a", soon()).await.is_some());

        assert!(turns.with(|queues| queues.is_empty()));
    }
}
