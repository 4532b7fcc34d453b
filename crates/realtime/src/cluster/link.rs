//! One project on this node, as part of the cluster: which other nodes serve it, what they use, and
//! how presence is kept in step (§14.5, §14.6). What nodes say about themselves is in `heartbeat`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use async_nats::Subject;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use plinth_project::{Project, ProjectRef};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    Cluster, Envelope, Heartbeat, NodeMessage, TopicLink,
    heartbeat::{self, HEARTBEAT_INTERVAL},
};
use crate::{
    metrics::{GaugeShare, RealtimeMetrics},
    topics::{Deliveries, NodeId, RemoteTopic, Topic, TopicMessage, Topics},
    usage::Usage,
};

/// Presence entries of a node that shuts down stay this long: its clients reconnect elsewhere
/// meanwhile, and no subscriber sees them leave and join.
const LEAVE_GRACE: Duration = Duration::from_secs(5);
/// How many heartbeats carry the clock of a topic whose presence has changed.
const CLOCK_REPEATS: u8 = 3;
/// How long a statement about records of followers may take at the end.
const RECORDS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the first join of a topic waits for the presence entries of other nodes.
const PRESENCE_SYNC_TIMEOUT: Duration = Duration::from_secs(1);

/// One project on this node, as part of a cluster.
#[derive(Debug)]
pub(crate) struct ClusterLink {
    pub(super) cluster: Cluster,
    pub(super) topics: Arc<Topics>,
    pub(super) usage: Arc<Usage>,
    prefix: String,
    /// The subject that all nodes of the project subscribe to.
    pub(super) control: Subject,
    this: Weak<Self>,
    peers: Mutex<HashMap<NodeId, Peer>>,
    /// Sockets of other nodes, as part of the cluster's total.
    remote_sockets: Mutex<GaugeShare>,
    /// Topics whose presence has changed, and how many more heartbeats carry their clocks.
    changed_topics: Mutex<HashMap<(Box<str>, bool), u8>>,
    /// Whether other nodes have had time to reply to this node's first heartbeat.
    pub(super) has_discovered_peers: watch::Sender<bool>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) last_seen_at: Instant,
    /// Set when the node shuts down.
    pub(super) remove_at: Option<Instant>,
    pub(super) heartbeat: Heartbeat,
}

/// What other nodes use, for limits that hold for all nodes together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RemoteUsage {
    pub(crate) sockets: u64,
    pub(crate) events: u64,
    pub(crate) joins: u64,
    pub(crate) presence_events: u64,
}

impl ClusterLink {
    /// Starts the task that sends and receives heartbeats; it ends when the link is dropped.
    pub(crate) fn start(
        cluster: &Cluster,
        project: &ProjectRef,
        metrics: &RealtimeMetrics,
        topics: &Arc<Topics>,
        usage: &Arc<Usage>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let cluster = cluster.with_metrics(&metrics.broker);
        let prefix = format!("rt.{project}");
        let control: Subject = format!("{prefix}.all").into();
        Arc::new_cyclic(|this: &Weak<Self>| {
            let task = heartbeat::run(this.clone(), cluster.clone(), control.clone(), stop);
            Self {
                cluster,
                topics: topics.clone(),
                usage: usage.clone(),
                prefix,
                control,
                this: this.clone(),
                peers: Mutex::default(),
                remote_sockets: Mutex::new(GaugeShare::new(&metrics.connected_cluster)),
                changed_topics: Mutex::default(),
                has_discovered_peers: watch::Sender::new(false),
                _task: AbortOnDropHandle::new(tokio::spawn(task)),
            }
        })
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The subject of a topic. Topics may have any name, subjects may not.
    fn subject(&self, topic: &str, is_private: bool) -> Subject {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, topic.as_bytes());
        let name = BASE64_URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]);
        let kind = if is_private { 'p' } else { 'u' };
        format!("{}.{kind}.{name}", self.prefix).into()
    }

    /// The subject on which WAL is relayed. Its name is part of the format between nodes.
    pub(super) fn wal_subject(&self) -> Subject {
        format!("{}.log", self.prefix).into()
    }

    /// Sends a message to the members that a topic has on other nodes, whether it has any here.
    pub(crate) fn publish(&self, topic: &str, is_private: bool, message: TopicMessage) {
        self.cluster
            .publish(&self.subject(topic, is_private), message.into());
    }

    /// Subscribes to a topic's messages from other nodes and waits for their presence entries.
    pub(crate) async fn open(&self, topic: &Arc<Topic>) -> Box<dyn RemoteTopic> {
        let subject = self.subject(&topic.name, topic.is_private);
        let link = TopicLink::open(&self.this, self.cluster.clone(), subject, topic).await;
        let syncing = async {
            _ = self
                .has_discovered_peers
                .subscribe()
                .wait_for(|has_discovered| *has_discovered)
                .await;
            self.request_presence(None, &topic.name, topic.is_private);
            topic.wait_for_presence_of(&self.live_peers()).await;
        };
        _ = timeout(PRESENCE_SYNC_TIMEOUT, syncing).await;
        Box::new(link)
    }

    /// Applies what another node sent to a topic.
    pub(super) fn apply(&self, topic: &Topic, from: NodeId, message: TopicMessage) {
        let applied = topic.apply_remote(from, message);
        if applied.is_behind {
            self.request_presence(Some(from), &topic.name, topic.is_private);
        }
        let Deliveries {
            broadcasts,
            presence,
        } = applied.deliveries;
        if broadcasts > 0 {
            self.usage.events.add(broadcasts);
        }
        if presence > 0 {
            self.usage.presence_events.add(presence);
        }
    }

    /// Asks one node, or all, to publish their presence entries of a topic.
    pub(super) fn request_presence(&self, of: Option<NodeId>, topic: &str, is_private: bool) {
        let request = NodeMessage::RequestPresence {
            of,
            topic: topic.into(),
            is_private,
        };
        self.cluster.publish(&self.control, request);
    }

    /// This node's presence entries of a topic have changed.
    pub(super) fn mark_presence_changed(&self, topic: &str, is_private: bool) {
        self.changed_topics()
            .insert((topic.into(), is_private), CLOCK_REPEATS);
    }

    pub(crate) fn remote_usage(&self) -> RemoteUsage {
        self.peers()
            .values()
            .fold(RemoteUsage::default(), |sum, peer| RemoteUsage {
                sockets: sum.sockets + peer.heartbeat.sockets,
                events: sum.events + peer.heartbeat.events,
                joins: sum.joins + peer.heartbeat.joins,
                presence_events: sum.presence_events + peer.heartbeat.presence_events,
            })
    }

    /// Updates the gauge of sockets on all nodes.
    pub(super) fn count_remote_sockets(&self) {
        let sockets = self.remote_usage().sockets;
        let mut share = self
            .remote_sockets
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        share.set(usize::try_from(sockets).unwrap_or(usize::MAX));
    }

    /// Whether there are other nodes that do not shut down, as far as is known.
    pub(super) fn has_staying_peers(&self) -> bool {
        self.peers().values().any(|peer| peer.remove_at.is_none())
    }

    /// Whether all other nodes have said that they shut down.
    pub(crate) fn is_last(&self) -> bool {
        let peers = self.peers();
        self.cluster.is_connected()
            && !peers.is_empty()
            && peers.values().all(|peer| peer.remove_at.is_some())
    }

    /// Whether other nodes follow according to the database, which is assumed where it cannot be asked.
    pub(crate) async fn has_follower_records(&self, project: &Project) -> bool {
        let records = self.cluster.follower_records(project);
        match timeout(RECORDS_TIMEOUT, records.list()).await {
            Ok(Ok(others)) => !others.is_empty(),
            Ok(Err(_)) | Err(_) => true,
        }
    }

    /// This node receives the WAL no longer: none is retained for it from now on.
    pub(crate) async fn stop_following(&self, project: &Project) {
        let records = self.cluster.follower_records(project);
        match timeout(RECORDS_TIMEOUT, records.delete()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!("cannot delete the record of this node: {error}"),
            Err(_) => tracing::debug!("cannot delete the record of this node: timeout"),
        }
        let leaving = NodeMessage::Leaving;
        self.cluster
            .publish_and_flush(&self.wal_subject(), leaving)
            .await;
    }

    /// Nodes that will reply to a request: seen lately and not shutting down.
    fn live_peers(&self) -> Vec<NodeId> {
        let peers = self.peers();
        let is_live = |peer: &Peer| {
            peer.last_seen_at.elapsed() < 3 * HEARTBEAT_INTERVAL && peer.remove_at.is_none()
        };
        let live = peers.iter().filter(|(_, peer)| is_live(peer));
        live.map(|(node, _)| *node).collect()
    }

    /// A message on the control subject.
    pub(super) fn handle_control(&self, envelope: Envelope) {
        let from = envelope.from;
        match envelope.message {
            NodeMessage::Heartbeat(heartbeat) => self.handle_heartbeat(from, heartbeat),
            NodeMessage::Leaving => {
                if let Some(peer) = self.peers().get_mut(&from) {
                    peer.remove_at = Some(Instant::now() + LEAVE_GRACE);
                }
            }
            NodeMessage::RequestPresence {
                of,
                topic,
                is_private,
            } => {
                if of.is_some_and(|node| node != self.cluster.node()) {
                    return;
                }
                match self.topics.find(&topic, is_private) {
                    Some(topic) => topic.publish_presence(),
                    // The node that asks waits for a reply from every other node.
                    None => self.publish(
                        &topic,
                        is_private,
                        TopicMessage::PresenceState {
                            clock: 0,
                            entries: Vec::new(),
                        },
                    ),
                }
            }
            NodeMessage::Topic(_) | NodeMessage::Wal(_) | NodeMessage::FollowWal(_) => {}
        }
    }

    /// After the broker was away: messages were lost in both directions.
    pub(super) fn resync_presence(&self) {
        self.topics.for_each(|topic| {
            topic.publish_presence();
            self.request_presence(None, &topic.name, topic.is_private);
        });
    }

    pub(super) fn peers(&self) -> MutexGuard<'_, HashMap<NodeId, Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changed_topics(&self) -> MutexGuard<'_, HashMap<(Box<str>, bool), u8>> {
        self.changed_topics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
