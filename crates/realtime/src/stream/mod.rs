//! The replication stream of a project's database (§14.1).
//!
//! One stream per project carries the rows of `realtime.messages`, which are broadcasts (§6.6), and
//! the row changes of published tables (§9). It is opened when the first channel is joined and kept
//! for a while after the last one has left; then its replication slot is dropped, so that PostgreSQL
//! retains no WAL without a reader.

mod dispatch;
mod lag;
mod messages;
mod progress;
mod slot;
mod task;

use std::sync::Arc;

use plinth_project::Project;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use slot::drop_orphaned_slots;

use crate::hub::Hub;

/// Starts the task that reads the stream, unless it runs.
pub(crate) fn ensure_running(
    hub: &Arc<Hub>,
    project: &Project,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    hub.stream.ensure_running(|| {
        tasks.spawn(task::run(project.clone(), hub.clone(), stop.clone()));
    });
}
