//! The service: one value for all projects.

use std::sync::Arc;

use plinth_project::Project;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::hub::Hub;

/// The realtime service. Cheap to clone.
#[derive(Clone, Default)]
pub struct RealtimeService(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl RealtimeService {
    /// A service without a single socket.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all sockets, one after the other, and waits for them.
    pub async fn finish(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub(crate) fn stopping(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    pub(crate) fn tasks(&self) -> TaskTracker {
        self.0.tasks.clone()
    }

    /// Where a project's channels meet.
    pub(crate) fn hub(&self, project: &Project) -> Arc<Hub> {
        project.attached(Hub::default)
    }
}
