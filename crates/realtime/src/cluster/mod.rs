//! Several nodes (§14.5): messages to members of a topic on other nodes go over NATS.
//!
//! Local members are served first and do not need the broker. A broadcast that the broker loses is
//! lost. A lost presence message is noticed by its clock and the state is requested again
//! (`topics::presence`). A follower of another node's WAL notices a gap and has everything since its
//! last position sent again, which the replication slot retains (`wal_writer`, `wal_follower`).

mod codec;
mod follower_records;
mod fragments;
mod heartbeat;
mod link;
mod message;
mod topic_link;
mod wal_follower;
mod wal_writer;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use async_nats::{Client, ConnectOptions, Event, Subject, Subscriber, connection::State};
use bytes::Bytes;
use futures_util::StreamExt as _;
use metrics::Counter;
use plinth_project::Project;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::timeout,
};

pub(crate) use link::{ClusterLink, RemoteUsage};
pub(crate) use message::WalPiece;
pub(crate) use wal_follower::{FollowerPosition, WalEvent, WalFollower};
pub(crate) use wal_writer::{WalWriter, WriterEvent};

use self::{
    follower_records::{FollowerRecord, FollowerRecords},
    fragments::Reassembler,
    message::{Envelope, FollowRequest, Heartbeat, NodeMessage, TopicClock, WalPart},
    topic_link::TopicLink,
};
use crate::{metrics::BrokerMetrics, topics::NodeId};

/// Messages that may wait for the broker. What does not fit is dropped and counted.
const PUBLISH_QUEUE_CAPACITY: usize = 8192;

/// Every broker takes messages of this size, whatever it says.
const MIN_PAYLOAD_BYTES: usize = 64 * 1024;

/// How long to wait for a broker that may be away.
const BROKER_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection to the broker that the nodes share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cluster {
    shared: Arc<Inner>,
    metrics: BrokerMetrics,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    node: NodeId,
    name: Box<str>,
    outgoing: mpsc::Sender<Outgoing>,
    /// The number of the next message, for its fragments.
    next_number: AtomicU64,
    /// Counts connections.
    connections: watch::Receiver<u64>,
    max_retained_wal: u64,
    follower_timeout: Duration,
}

/// A message to other nodes, or a fragment of one.
struct Outgoing {
    subject: Subject,
    data: Bytes,
    /// Held until the client has taken the message.
    _permit: Option<OwnedSemaphorePermit>,
}

/// How to reach the broker, and what this node is called.
#[derive(Clone)]
pub struct ClusterConfig {
    /// One address, or several separated by commas. May contain a password, which `Debug` omits.
    pub url: String,
    /// The node's name; a new run with the same name replaces the old one. May be empty.
    pub name: String,
    /// How much WAL a slot may retain for nodes that cannot be reached, in bytes.
    pub max_retained_wal: u64,
    /// No WAL is retained for a node after this long without a sign of life, neither through the
    /// broker nor in the database.
    pub follower_timeout: Duration,
}

impl ClusterConfig {
    /// The usual [`Self::follower_timeout`].
    pub const FOLLOWER_TIMEOUT: Duration = Duration::from_secs(30);
}

impl fmt::Debug for ClusterConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterConfig")
            .field("url", &redact_password(&self.url))
            .field("name", &self.name)
            .field("max_retained_wal", &self.max_retained_wal)
            .field("follower_timeout", &self.follower_timeout)
            .finish()
    }
}

/// Connecting to the broker failed for good.
#[derive(Debug, thiserror::Error)]
#[error("NATS at {url}: {cause}")]
pub struct ClusterError {
    url: String,
    cause: String,
}

impl Cluster {
    /// Starts a connection that is retried in the background for as long as the process runs.
    pub async fn connect(config: &ClusterConfig) -> Result<Self, ClusterError> {
        let (connected, connections) = watch::channel(0);
        let on_event = move |event: Event| {
            let connected = connected.clone();
            async move {
                match event {
                    Event::Connected => {
                        tracing::info!("connected to NATS");
                        connected.send_modify(|times| *times += 1);
                    }
                    Event::Disconnected => {
                        tracing::warn!(
                            "lost the connection to NATS: other nodes are unreachable until it is back"
                        );
                    }
                    other => tracing::debug!("NATS: {other}"),
                }
            }
        };
        let addresses: Vec<&str> = config.url.split(',').map(str::trim).collect();
        let client = ConnectOptions::new()
            .name("plinth")
            .no_echo()
            .retry_on_initial_connect()
            .event_callback(on_event)
            .connect(addresses)
            .await
            .map_err(|error| ClusterError {
                url: redact_password(&config.url),
                cause: error.to_string(),
            })?;
        // Usually it is there, and then the first messages are not lost.
        let mut up = connections.clone();
        _ = timeout(BROKER_TIMEOUT, up.wait_for(|times| *times > 0)).await;
        let (outgoing, queue) = mpsc::channel(PUBLISH_QUEUE_CAPACITY);
        let node = NodeId::generate();
        tokio::spawn(send_queued(client.clone(), queue));
        Ok(Self {
            shared: Arc::new(Inner {
                client,
                node,
                name: config.name.as_str().into(),
                outgoing,
                next_number: AtomicU64::new(0),
                connections,
                max_retained_wal: config.max_retained_wal,
                follower_timeout: config.follower_timeout,
            }),
            metrics: BrokerMetrics::noop(),
        })
    }

    /// The same connection, with the metrics of one project.
    pub(crate) fn with_metrics(&self, metrics: &BrokerMetrics) -> Self {
        Self {
            shared: self.shared.clone(),
            metrics: metrics.clone(),
        }
    }

    pub(crate) fn node(&self) -> NodeId {
        self.shared.node
    }

    pub(crate) fn name(&self) -> &str {
        &self.shared.name
    }

    /// The configured name, or one made from the node's id.
    pub(crate) fn node_name(&self) -> String {
        match self.name() {
            "" => format!("plinth@{:016x}", self.node().0),
            name => name.to_owned(),
        }
    }

    pub(crate) fn max_retained_wal(&self) -> u64 {
        self.shared.max_retained_wal
    }

    /// What followers of `project` write into its database.
    fn follower_records(&self, project: &Project) -> FollowerRecords {
        FollowerRecords::new(project, self.node(), self.shared.follower_timeout)
    }

    /// Whether the broker can be reached now.
    pub fn is_connected(&self) -> bool {
        self.shared.client.connection_state() == State::Connected
    }

    /// Updates the metric that says so.
    pub(super) fn record_connection(&self) {
        self.metrics.connected.set(f64::from(self.is_connected()));
    }

    /// Counts connections: a change means that messages may have been lost before.
    pub(crate) fn connections(&self) -> watch::Receiver<u64> {
        self.shared.connections.clone()
    }

    /// Queues a message for other nodes; drops it if the broker is away or the queue is full.
    pub(crate) fn publish(&self, subject: &Subject, message: NodeMessage) {
        self.enqueue(subject, message, None);
    }

    /// The same for a part of the WAL, which is also dropped if there is no permit for it.
    fn publish_part(
        &self,
        subject: &Subject,
        message: NodeMessage,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        match permit {
            Some(permit) => self.enqueue(subject, message, Some(permit)),
            None => self.metrics.dropped.increment(1),
        }
    }

    /// Queues a message after all others, and waits until the broker has it: the process may end then.
    pub(crate) async fn publish_and_flush(&self, subject: &Subject, message: NodeMessage) {
        if !self.is_connected() {
            return;
        }
        let taken = Arc::new(Semaphore::new(1));
        self.enqueue(subject, message, taken.clone().try_acquire_owned().ok());
        let sending = async {
            _ = taken.acquire().await;
            _ = self.shared.client.flush().await;
        };
        _ = timeout(BROKER_TIMEOUT, sending).await;
    }

    fn enqueue(
        &self,
        subject: &Subject,
        message: NodeMessage,
        mut permit: Option<OwnedSemaphorePermit>,
    ) {
        if !self.is_connected() {
            self.metrics.dropped.increment(1);
            return;
        }
        let envelope = Envelope {
            from: self.node(),
            message,
        };
        let limit = self
            .shared
            .client
            .server_info()
            .max_payload
            .max(MIN_PAYLOAD_BYTES);
        let number = self.shared.next_number.fetch_add(1, Relaxed);
        for data in fragments::split(self.node(), number, &envelope.encode(), limit) {
            let fragment = Outgoing {
                subject: subject.clone(),
                data,
                _permit: permit.take(),
            };
            if self.shared.outgoing.try_send(fragment).is_err() {
                self.metrics.dropped.increment(1);
                return;
            }
        }
        self.metrics.published.increment(1);
    }

    /// Subscribes to a subject. When this returns the broker knows of it, unless it is away.
    pub(crate) async fn subscribe(&self, subject: &Subject) -> Option<NodeMessages> {
        let subscribing = async {
            let subscriber = self.shared.client.subscribe(subject.clone()).await.ok()?;
            _ = timeout(BROKER_TIMEOUT, self.shared.client.flush()).await;
            Some(subscriber)
        };
        let subscriber = timeout(BROKER_TIMEOUT * 2, subscribing).await.ok()??;
        Some(NodeMessages {
            subscriber,
            reassembler: Reassembler::default(),
            received: self.metrics.received.clone(),
        })
    }
}

async fn send_queued(client: Client, mut queue: mpsc::Receiver<Outgoing>) {
    while let Some(message) = queue.recv().await {
        if let Err(error) = client.publish(message.subject, message.data).await {
            tracing::debug!("dropping a message to other nodes: {error}");
        }
    }
    _ = timeout(BROKER_TIMEOUT, client.flush()).await;
}

/// Messages of other nodes on one subject.
pub(crate) struct NodeMessages {
    subscriber: Subscriber,
    reassembler: Reassembler,
    received: Counter,
}

impl NodeMessages {
    pub(crate) async fn next(&mut self) -> Option<Envelope> {
        loop {
            let message = self.subscriber.next().await?;
            let Some(whole) = self.reassembler.add(message.payload) else {
                continue;
            };
            self.received.increment(1);
            match Envelope::decode(whole) {
                Ok(envelope) => return Some(envelope),
                Err(error) => tracing::debug!("{error}"),
            }
        }
    }
}

/// Addresses without their passwords, for messages.
fn redact_password(url: &str) -> String {
    url.split(',')
        .map(|url| match url.rsplit_once('@') {
            Some((_, host)) => format!("nats://***@{host}"),
            None => url.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(
            redact_password("nats://a:b@h:1,nats://h:2"),
            "nats://***@h:1,nats://h:2"
        );
    }

    #[test]
    fn a_configuration_is_printed_without_its_password() {
        let config = ClusterConfig {
            url: "nats://user:sesame@broker:4222".to_owned(),
            name: "a".to_owned(),
            max_retained_wal: 1,
            follower_timeout: ClusterConfig::FOLLOWER_TIMEOUT,
        };

        let printed = format!("{config:?}");

        assert!(printed.contains("broker:4222"), "{printed}");
        assert!(!printed.contains("sesame"), "{printed}");
    }
}
