//! Several nodes (§14.5): what is said on one of them reaches the others over NATS.
//!
//! Everything is delivered here first. What the broker loses is lost for broadcasts, as it would be
//! for a client that is away for a moment; presence notices and asks again (`rooms::presence`), and
//! whoever follows the database's log through another node is told that something may be missing.
//! While the broker is away, every node serves its own clients.

mod envelope;
mod link;
mod log;
mod outlet;
mod parts;

use std::{
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
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

pub(crate) use envelope::{
    Alive, Envelope, LogPart, LogPiece, NodeId, PresenceChange, RoomClock, Said,
};
pub(crate) use link::{Elsewhere, Link};
pub(crate) use log::{LogNews, LogReader, LogWriter};
pub(crate) use outlet::Outlet;

use self::parts::Joiner;
use crate::numbers::BrokerNumbers;

/// Messages that wait for the broker. What does not fit is lost, as if the broker had lost it.
const WAITING: usize = 8192;

/// The smallest message that every broker takes.
const SMALLEST_LIMIT: usize = 64 * 1024;

/// How long a broker that is away is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection to the broker that the nodes share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cluster {
    shared: Arc<Inner>,
    numbers: BrokerNumbers,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    node: NodeId,
    name: Box<str>,
    outgoing: mpsc::Sender<(Subject, Bytes)>,
    /// Numbers the messages.
    sent: AtomicU64,
    connected: watch::Receiver<u64>,
}

/// How to reach the broker, and what this node is called.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// One address or several, with commas between.
    pub url: String,
    /// What this node is called; a new run with the same name takes the place of the old one.
    pub name: String,
}

/// The broker cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("NATS at {url}: {cause}")]
pub struct ClusterError {
    url: String,
    cause: String,
}

impl Cluster {
    /// Connects in the background and for good: a broker that is away comes back.
    pub async fn connect(config: &ClusterConfig) -> Result<Self, ClusterError> {
        let (tell, connected) = watch::channel(0);
        let on_event = move |event: Event| {
            let tell = tell.clone();
            async move {
                match event {
                    Event::Connected => {
                        tracing::info!("connected to NATS");
                        tell.send_modify(|times| *times += 1);
                    }
                    Event::Disconnected => {
                        tracing::warn!("NATS is away; other nodes are not heard")
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
                url: without_secrets(&config.url),
                cause: error.to_string(),
            })?;
        // Usually it is there, and then nothing that is said first is lost.
        let mut up = connected.clone();
        _ = timeout(PATIENCE, up.wait_for(|times| *times > 0)).await;
        let (outgoing, waiting) = mpsc::channel(WAITING);
        let node = NodeId::generate();
        tokio::spawn(publish(client.clone(), waiting));
        Ok(Self {
            shared: Arc::new(Inner {
                client,
                node,
                name: config.name.as_str().into(),
                outgoing,
                sent: AtomicU64::new(0),
                connected,
            }),
            numbers: BrokerNumbers::of_nobody(),
        })
    }

    /// The same connection, for one project.
    pub(crate) fn counted_by(&self, numbers: &BrokerNumbers) -> Self {
        Self {
            shared: self.shared.clone(),
            numbers: numbers.clone(),
        }
    }

    pub(crate) fn node(&self) -> NodeId {
        self.shared.node
    }

    pub(crate) fn name(&self) -> &str {
        &self.shared.name
    }

    /// The same; a node without a name is told from others by its number.
    pub(crate) fn node_name(&self) -> String {
        match self.name() {
            "" => format!("plinth@{:016x}", self.node().0),
            name => name.to_owned(),
        }
    }

    /// Counts connections: news of it means that messages may have been lost.
    pub(crate) fn connections(&self) -> watch::Receiver<u64> {
        self.shared.connected.clone()
    }

    /// Tells other nodes, soon. Nothing waits for it.
    pub(crate) fn say(&self, subject: &Subject, said: Said) {
        if self.shared.client.connection_state() != State::Connected {
            self.numbers.dropped.increment(1);
            return;
        }
        let envelope = Envelope {
            from: self.node(),
            said,
        };
        let limit = self
            .shared
            .client
            .server_info()
            .max_payload
            .max(SMALLEST_LIMIT);
        let number = self.shared.sent.fetch_add(1, Relaxed);
        for part in parts::cut(self.node(), number, &envelope.encode(), limit) {
            if self
                .shared
                .outgoing
                .try_send((subject.clone(), part))
                .is_err()
            {
                self.numbers.dropped.increment(1);
                return;
            }
        }
        self.numbers.published.increment(1);
    }

    /// Hears what other nodes say from now on. When it returns the broker knows, unless it is away.
    pub(crate) async fn listen(&self, subject: &Subject) -> Option<Listening> {
        let subscribing = async {
            let subscriber = self.shared.client.subscribe(subject.clone()).await.ok()?;
            _ = timeout(PATIENCE, self.shared.client.flush()).await;
            Some(subscriber)
        };
        let subscriber = timeout(PATIENCE * 2, subscribing).await.ok()??;
        Some(Listening {
            subscriber,
            joiner: Joiner::default(),
            received: self.numbers.received.clone(),
        })
    }
}

async fn publish(client: Client, mut waiting: mpsc::Receiver<(Subject, Bytes)>) {
    while let Some((subject, message)) = waiting.recv().await {
        if let Err(error) = client.publish(subject, message).await {
            tracing::debug!("a message for other nodes is lost: {error}");
        }
    }
    _ = timeout(PATIENCE, client.flush()).await;
}

/// What other nodes say on a subject.
pub(crate) struct Listening {
    subscriber: Subscriber,
    joiner: Joiner,
    received: Counter,
}

impl Listening {
    pub(crate) async fn next(&mut self) -> Option<Envelope> {
        loop {
            let message = self.subscriber.next().await?;
            let Some(whole) = self.joiner.take(message.payload) else {
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

/// An address without a password, for messages.
fn without_secrets(url: &str) -> String {
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
    fn passwords_are_not_told() {
        assert_eq!(
            without_secrets("nats://a:b@h:1,nats://h:2"),
            "nats://***@h:1,nats://h:2"
        );
    }
}
