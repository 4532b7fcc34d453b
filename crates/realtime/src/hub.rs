//! What all sockets of a project on this node share.

use std::sync::{Arc, OnceLock};

use plinth_project::ProjectRef;
use tokio_util::sync::CancellationToken;

use crate::{
    cluster::{Cluster, ClusterLink, RemoteUsage},
    metrics::RealtimeMetrics,
    protocol::Broadcast,
    stream_status::StreamHandle,
    subscriptions::Subscriptions,
    topics::{ChannelId, JoinBuffer, Topic, TopicMessage, Topics},
    usage::{SocketPermit, Usage},
};

/// One project on this node.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) metrics: Arc<RealtimeMetrics>,
    pub(crate) usage: Arc<Usage>,
    pub(crate) topics: Arc<Topics>,
    pub(crate) stream: StreamHandle,
    pub(crate) subscriptions: Arc<Subscriptions>,
    link: OnceLock<Arc<ClusterLink>>,
}

impl Hub {
    pub(crate) fn for_project(project: &ProjectRef) -> Self {
        let metrics = Arc::new(RealtimeMetrics::for_project(project));
        Self {
            usage: Arc::new(Usage::new(&metrics)),
            topics: Arc::new(Topics::new(&metrics)),
            stream: StreamHandle::default(),
            subscriptions: Arc::new(Subscriptions::new(metrics.subscribers.clone())),
            link: OnceLock::new(),
            metrics,
        }
    }

    /// Connects the project to other nodes, once.
    pub(crate) fn join_cluster(
        &self,
        cluster: &Cluster,
        project: &ProjectRef,
        stop: &CancellationToken,
    ) {
        self.link.get_or_init(|| {
            ClusterLink::start(
                cluster,
                project,
                &self.metrics,
                &self.topics,
                &self.usage,
                stop.clone(),
            )
        });
    }

    /// The link to other nodes; `None` without a cluster.
    pub(crate) fn link(&self) -> Option<&Arc<ClusterLink>> {
        self.link.get()
    }

    /// Whether messages go to members on all nodes now: there is one node, or the broker is there.
    pub(crate) fn reaches_all_nodes(&self) -> bool {
        self.link().is_none_or(|link| link.cluster().is_connected())
    }

    /// Keeps a topic alive for a channel that is about to join, and connects it to other nodes.
    /// For a join with replay, database messages are buffered from now on.
    pub(crate) async fn reserve_topic(
        self: &Arc<Self>,
        name: &str,
        is_private: bool,
        with_replay: bool,
    ) -> Option<Reservation> {
        let link = self.link().cloned();
        if link.is_none() && !with_replay {
            return None;
        }
        let mut reservation = Reservation {
            hub: self.clone(),
            topic: self.topics.reserve(name, is_private),
            buffer: None,
        };
        if let Some(link) = link {
            let topic = &reservation.topic;
            topic.connect(|| link.open(topic)).await;
        }
        reservation.buffer = with_replay.then(|| reservation.topic.create_join_buffer());
        Some(reservation)
    }

    /// Sends a broadcast to a topic's members on all nodes.
    pub(crate) fn broadcast(
        &self,
        topic: &str,
        is_private: bool,
        broadcast: &Broadcast,
        sender: Option<ChannelId>,
    ) {
        let local = self.topics.find(topic, is_private);
        let delivered = local.map_or(0, |topic| topic.broadcast(broadcast, sender));
        self.usage.events.add(1 + delivered as u64);
        self.publish_remote(topic, is_private, None, broadcast);
    }

    /// Sends a row of `realtime.messages` to a topic's members on all nodes, except those to whom
    /// it was replayed.
    pub(crate) fn broadcast_from_database(
        &self,
        topic: &str,
        is_private: bool,
        broadcast: &Broadcast,
        id: &str,
    ) {
        let local = self.topics.find(topic, is_private);
        let delivered = local.map_or(0, |topic| topic.broadcast_from_database(broadcast, id));
        self.usage.events.add(1 + delivered as u64);
        self.publish_remote(topic, is_private, Some(id), broadcast);
    }

    fn publish_remote(
        &self,
        topic: &str,
        is_private: bool,
        id: Option<&str>,
        broadcast: &Broadcast,
    ) {
        if let Some(link) = self.link() {
            let message = TopicMessage::Broadcast {
                id: id.map(Into::into),
                broadcast: broadcast.clone(),
            };
            link.publish(topic, is_private, message);
        }
    }

    /// How many sockets have a channel, on all nodes.
    pub(crate) fn sockets(&self) -> usize {
        self.usage.sockets().saturating_add(self.remote_sockets())
    }

    /// Counts a socket that gets its first channel; `None` if the project has `max` on all nodes.
    pub(crate) fn acquire_socket(&self, max: usize) -> Option<SocketPermit> {
        let max = max.saturating_sub(self.remote_sockets());
        self.usage.acquire_socket(max)
    }

    /// On all nodes, as the two below.
    pub(crate) fn events_per_second(&self) -> u64 {
        self.usage.events.average() + self.remote_usage().events
    }

    pub(crate) fn joins_per_second(&self) -> u64 {
        self.usage.joins.average() + self.remote_usage().joins
    }

    pub(crate) fn presence_events_per_second(&self) -> u64 {
        self.usage.presence_events.average() + self.remote_usage().presence_events
    }

    fn remote_sockets(&self) -> usize {
        usize::try_from(self.remote_usage().sockets).unwrap_or(usize::MAX)
    }

    fn remote_usage(&self) -> RemoteUsage {
        self.link()
            .map(|link| link.remote_usage())
            .unwrap_or_default()
    }
}

/// A topic that a channel is about to join.
#[derive(Debug)]
pub(crate) struct Reservation {
    hub: Arc<Hub>,
    topic: Arc<Topic>,
    /// For a join with replay.
    pub(crate) buffer: Option<Arc<JoinBuffer>>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.hub.topics.release(&self.topic);
    }
}
