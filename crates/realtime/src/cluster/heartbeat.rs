//! Heartbeats: how nodes that serve one project know of each other, and notice that a presence
//! message was lost.

use std::{sync::Weak, time::Duration};

use async_nats::Subject;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Cluster, ClusterLink, Heartbeat, NodeMessage, TopicClock, link::Peer};
use crate::topics::{NodeId, Topic};

/// How often a node sends a heartbeat.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(1500);
/// A node is considered dead after this long without a heartbeat.
const NODE_TIMEOUT: Duration = Duration::from_secs(30);
/// Every this many heartbeats carry the clocks of all topics.
const FULL_CLOCKS_EVERY: u64 = 10;
/// But of no more topics than this.
const MAX_CLOCKS: usize = 5_000;
/// How long other nodes may take to reply to the first heartbeat of this one.
const DISCOVERY_TIME: Duration = Duration::from_millis(150);

/// Sends and receives heartbeats until the link is dropped or the service stops.
pub(super) async fn run(
    link: Weak<ClusterLink>,
    cluster: Cluster,
    control: Subject,
    stop: CancellationToken,
) {
    let mut messages = loop {
        match cluster.subscribe(&control).await {
            Some(messages) => break messages,
            None => tokio::time::sleep(HEARTBEAT_INTERVAL).await,
        }
    };
    let discovery = tokio::time::sleep(DISCOVERY_TIME);
    tokio::pin!(discovery);
    let mut has_discovered = false;
    let mut connections = cluster.connections();
    let mut ticks = tokio::time::interval(HEARTBEAT_INTERVAL);
    let mut number = 1;
    loop {
        let received = tokio::select! {
            envelope = messages.next() => match envelope {
                Some(envelope) => Some(envelope),
                None => return,
            },
            _ = ticks.tick() => None,
            () = &mut discovery, if !has_discovered => {
                has_discovered = true;
                if let Some(link) = link.upgrade() {
                    link.has_discovered_peers.send_replace(true);
                }
                continue;
            }
            () = stop.cancelled() => {
                cluster.publish(&control, NodeMessage::Leaving);
                return;
            }
            _ = connections.changed() => {
                if let Some(link) = link.upgrade() {
                    link.resync_presence();
                }
                continue;
            }
        };
        let Some(link) = link.upgrade() else {
            return;
        };
        match received {
            Some(envelope) => link.handle_control(envelope),
            None => {
                link.tick(number);
                number += 1;
            }
        }
    }
}

impl ClusterLink {
    pub(super) fn handle_heartbeat(&self, from: NodeId, heartbeat: Heartbeat) {
        for TopicClock {
            topic,
            is_private,
            clock,
        } in &heartbeat.clocks
        {
            if let Some(known) = self.topics.find(topic, *is_private)
                && known.clock_of(from) != Some(*clock)
            {
                self.request_presence(Some(from), topic, *is_private);
            }
        }
        let mut peers = self.peers();
        // A restarted node replaces its former run at once.
        let replaced: Vec<NodeId> = peers
            .iter()
            .filter(|(node, peer)| {
                **node != from
                    && !heartbeat.name.is_empty()
                    && peer.heartbeat.name == heartbeat.name
            })
            .map(|(node, _)| *node)
            .collect();
        for node in &replaced {
            peers.remove(node);
        }
        let known = peers.get(&from);
        let is_new = known.is_none();
        let peer = Peer {
            last_seen_at: Instant::now(),
            remove_at: known.and_then(|peer| peer.remove_at),
            heartbeat,
        };
        peers.insert(from, peer);
        drop(peers);
        self.count_remote_sockets();
        for node in replaced {
            self.remove_presence_of(node);
        }
        if is_new {
            // It must know of this node before its first join reads presence.
            self.send_heartbeat(Vec::new());
        }
    }

    /// Removes dead nodes and sends the next heartbeat.
    fn tick(&self, number: u64) {
        self.cluster.record_connection();
        for node in self.take_dead_peers() {
            tracing::warn!(
                "node {:016x} has left or missed its heartbeats: removing its presence entries",
                node.0
            );
            self.remove_presence_of(node);
        }
        let clocks = match number % FULL_CLOCKS_EVERY {
            0 => self.all_clocks(),
            _ => self.changed_clocks(),
        };
        self.send_heartbeat(clocks);
    }

    fn take_dead_peers(&self) -> Vec<NodeId> {
        let now = Instant::now();
        let is_dead = |peer: &Peer| {
            peer.last_seen_at + NODE_TIMEOUT <= now
                || peer.remove_at.is_some_and(|remove_at| remove_at <= now)
        };
        let mut peers = self.peers();
        let dead: Vec<NodeId> = peers
            .iter()
            .filter(|(_, peer)| is_dead(peer))
            .map(|(node, _)| *node)
            .collect();
        for node in &dead {
            peers.remove(node);
        }
        drop(peers);
        self.count_remote_sockets();
        dead
    }

    fn remove_presence_of(&self, node: NodeId) {
        self.topics.for_each(|topic| topic.remove_node(node));
    }

    fn send_heartbeat(&self, clocks: Vec<TopicClock>) {
        let heartbeat = Heartbeat {
            name: self.cluster.name().into(),
            sockets: self.usage.sockets() as u64,
            events: self.usage.events.average(),
            joins: self.usage.joins.average(),
            presence_events: self.usage.presence_events.average(),
            clocks,
        };
        self.cluster
            .publish(&self.control, NodeMessage::Heartbeat(heartbeat));
    }

    fn all_clocks(&self) -> Vec<TopicClock> {
        let mut clocks = Vec::new();
        self.topics.for_each(|topic| {
            if clocks.len() < MAX_CLOCKS && topic.clock() > 0 {
                clocks.push(topic_clock(topic));
            }
        });
        clocks
    }

    fn changed_clocks(&self) -> Vec<TopicClock> {
        let mut changed = self.changed_topics();
        let mut clocks = Vec::with_capacity(changed.len());
        changed.retain(|(name, is_private), repeats| {
            if let Some(topic) = self.topics.find(name, *is_private) {
                clocks.push(topic_clock(&topic));
            }
            *repeats -= 1;
            *repeats > 0
        });
        clocks
    }
}

fn topic_clock(topic: &Topic) -> TopicClock {
    TopicClock {
        topic: (&*topic.name).into(),
        is_private: topic.is_private,
        clock: topic.clock(),
    }
}
