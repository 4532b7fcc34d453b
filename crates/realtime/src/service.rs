//! The service: one value serves all projects.

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
    /// A service on a single node.
    pub fn new() -> Self {
        Self::default()
    }

    /// A service on one of several nodes.
    pub fn with_cluster(cluster: Cluster) -> Self {
        Self(Arc::new(Inner {
            cluster: Some(cluster),
            ..Inner::default()
        }))
    }

    /// Closes all sockets, spread over a few seconds, and waits for them.
    pub async fn shut_down(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Creates the daily partitions of `realtime.messages` that are needed next, and drops those
    /// past retention (§13).
    pub async fn maintain_partitions(&self, project: &Project) -> Result<(), DbError> {
        let mut connection = project.db.as_service(Service::Realtime).await?;
        let sql = "select realtime.maintain_messages_days()";
        connection.query(sql, &[]).await.map(drop)
    }

    /// Whether messages reach clients of all nodes: there is one node, or the broker is there.
    pub fn reaches_all_nodes(&self) -> bool {
        self.0.cluster.as_ref().is_none_or(Cluster::is_connected)
    }

    /// This node's name, for the health response.
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

    /// The project's shared state, created on first use.
    pub(crate) fn hub(&self, project: &Project) -> Arc<Hub> {
        let hub = project.service_state(|| Hub::for_project(project.reference()));
        if let Some(cluster) = &self.0.cluster {
            hub.join_cluster(cluster, project.reference(), &self.0.stop);
        }
        hub
    }
}
