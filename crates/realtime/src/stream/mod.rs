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
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use plinth_project::Project;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use slot::sweep as sweep_slots;

use crate::hub::Hub;

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
}

impl Default for Stream {
    fn default() -> Self {
        Self {
            flow: watch::Sender::new(Flow::Down(None)),
            is_running: Mutex::new(false),
        }
    }
}

impl Stream {
    /// Whether changes arrive, and news of that.
    pub(crate) fn flow(&self) -> watch::Receiver<Flow> {
        self.flow.subscribe()
    }

    /// Waits until messages of the database arrive, but not for ever.
    pub(crate) async fn come_up(&self, patience: Duration) {
        let mut flow = self.flow();
        let is_up = flow.wait_for(|flow| matches!(flow, Flow::Up { .. }));
        _ = tokio::time::timeout(patience, is_up).await;
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
