//! What happens in a project's database, as its log tells it (§14.1).
//!
//! One stream per project carries the messages that the database sends (§6.6) and the changes of
//! rows (§9). It is opened when the first channel is joined and kept for a while after the last one
//! has gone; then its slot is dropped, so that the server keeps no log for nobody.

mod follow;
mod lag;
mod messages;
mod progress;
mod slot;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use plinth_project::Project;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use slot::sweep as sweep_slots;

use crate::hub::Hub;

/// So many transactions are remembered. More are hardly about to become visible: each has a
/// connection of its own.
const MOST_TOLD: usize = 1_024;
/// Older ones have become visible long ago.
const LATELY: Duration = Duration::from_secs(60);

/// Whether changes arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flow {
    /// They do not; why, if that is more than not having begun.
    Down(Option<Arc<str>>),
    /// They do. Between two generations some may be missing.
    Up { generation: u64 },
}

/// The stream of one project, as everybody but its own task sees it.
#[derive(Debug)]
pub(crate) struct Stream {
    flow: watch::Sender<Flow>,
    is_running: Mutex<bool>,
    /// The last transactions whose messages were told, the newest last.
    told: Mutex<VecDeque<(Instant, u32)>>,
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            flow: watch::Sender::new(Flow::Down(None)),
            is_running: Mutex::new(false),
            told: Mutex::default(),
        }
    }
}

impl Stream {
    /// Whether changes arrive, and news of that.
    pub(crate) fn flow(&self) -> watch::Receiver<Flow> {
        self.flow.subscribe()
    }

    /// Waits until messages of the database arrive, or it is known why they do not; not for ever.
    pub(crate) async fn come_up(&self, patience: Duration) {
        let mut flow = self.flow();
        let is_known = flow.wait_for(|flow| *flow != Flow::Down(None));
        _ = tokio::time::timeout(patience, is_known).await;
    }

    /// The transactions of which something was told lately.
    pub(crate) fn told(&self) -> Vec<u32> {
        let told = self.lock_told();
        let lately = told.iter().filter(|(at, _)| at.elapsed() < LATELY);
        lately.map(|(_, transaction)| *transaction).collect()
    }

    /// Messages of a transaction are about to be told.
    fn tells_of(&self, transaction: u32) {
        let mut told = self.lock_told();
        if told.back().is_some_and(|(_, last)| *last == transaction) {
            return;
        }
        if told.len() == MOST_TOLD {
            told.pop_front();
        }
        told.push_back((Instant::now(), transaction));
    }

    fn lock_told(&self) -> MutexGuard<'_, VecDeque<(Instant, u32)>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(*self.flow.borrow(), Flow::Up { .. })
    }

    fn tell(&self, flow: Flow) {
        self.flow.send_if_modified(|known| {
            *known != flow && {
                *known = flow;
                true
            }
        });
    }

    /// The task has nothing to do; whether it may end. Whoever comes later starts another.
    fn may_end(&self, hub: &Hub) -> bool {
        let mut is_running = self
            .is_running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *is_running = hub.rooms.population() > 0;
        !*is_running
    }

    fn ends(&self) {
        *self
            .is_running
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// Somebody is here who may want to hear of the database: makes sure that its stream is opened.
pub(crate) fn keep_open(
    hub: &Arc<Hub>,
    project: &Project,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    let stream = &hub.stream;
    let mut is_running = stream
        .is_running
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if !std::mem::replace(&mut *is_running, true) {
        tasks.spawn(follow::run(project.clone(), hub.clone(), stop.clone()));
    }
}
