//! The service: one value for all projects.

use std::sync::Arc;

use plinth_db::{DbError, Queries as _};
use plinth_project::{Project, Service};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{cluster::Cluster, hub::Hub};

/// The realtime service. Cheap to clone.
#[derive(Clone, Default)]
pub struct RealtimeService(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tasks: TaskTracker,
    stop: CancellationToken,
    cluster: Option<Cluster>,
}

impl RealtimeService {
    /// A service without a single socket.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, as one of several nodes.
    pub fn of_cluster(cluster: Cluster) -> Self {
        Self(Arc::new(Inner {
            cluster: Some(cluster),
            ..Inner::default()
        }))
    }

    /// Ends all sockets, one after the other, and waits for them.
    pub async fn finish(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Keeps the days of `realtime.messages` that are needed, and drops those that are past their
    /// time (§13).
    pub async fn maintain(&self, project: &Project) -> Result<(), DbError> {
        let mut connection = project.db.as_service(Service::Realtime).await?;
        let sql = "select realtime.maintain_messages_days()";
        connection.query(sql, &[]).await.map(drop)
    }

    /// What this node is called.
    pub(crate) fn node_name(&self) -> String {
        let cluster = self.0.cluster.as_ref();
        cluster.map_or_else(|| "plinth".to_owned(), Cluster::node_name)
    }

    pub(crate) fn stopping(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    pub(crate) fn tasks(&self) -> TaskTracker {
        self.0.tasks.clone()
    }

    /// Where a project's channels meet.
    pub(crate) fn hub(&self, project: &Project) -> Arc<Hub> {
        let hub = project.attached(|| Hub::of(project.reference()));
        if let Some(cluster) = &self.0.cluster {
            hub.join_cluster(cluster, project.reference(), &self.0.stop);
        }
        hub
    }
}
