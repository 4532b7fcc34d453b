//! One topic and its members.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use axum::extract::ws::Message;
use tokio::sync::{Notify, OnceCell};

use super::{
    ChannelId, JoinBuffer, Member, NodeId, RemoteTopic, TopicMessage,
    join_buffer::JoinBuffers,
    presence::{LocalChange, Presence},
};
use crate::{
    metrics::RealtimeMetrics,
    protocol::{Broadcast, Frame, Ref, Version},
    replay::{InitialMessage, Replay},
};

/// All presence entries go to every channel that joins, so this many are worth a warning.
const PRESENCE_WARNING: usize = 10_000;

/// A topic with at least one member, or one about to join.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    pub(crate) is_private: bool,
    metrics: Arc<RealtimeMetrics>,
    /// Locked before `members`: all members must receive presence changes in the same order.
    presence: Mutex<Presence>,
    members: RwLock<HashMap<ChannelId, Arc<Member>>>,
    /// Used with `members` locked: a channel is either a member or has a buffer.
    join_buffers: JoinBuffers,
    /// How many channels are about to join.
    reserved: AtomicUsize,
    /// The same topic on other nodes.
    remote: OnceCell<Box<dyn RemoteTopic>>,
    /// Notified when another node has sent its presence entries.
    presence_received: Notify,
}

/// To how many members something was delivered.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    pub(crate) broadcasts: u64,
    pub(crate) presence: u64,
}

impl Deliveries {
    fn of_broadcast(members: usize) -> Self {
        Self {
            broadcasts: members as u64,
            presence: 0,
        }
    }

    fn of_presence(members: usize) -> Self {
        Self {
            broadcasts: 0,
            presence: members as u64,
        }
    }
}

/// What became of another node's message.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) deliveries: Deliveries,
    /// Whether earlier presence changes of that node were missed.
    pub(crate) is_behind: bool,
}

/// What a new member is sent before anything else.
pub(crate) struct InitialFrames<'a> {
    pub(crate) join_ref: Option<&'a Ref>,
    pub(crate) reply: Message,
    pub(crate) replay: Replay,
    /// Database messages that arrived since the replay query.
    pub(crate) buffer: Option<Arc<JoinBuffer>>,
    pub(crate) has_presence_state: bool,
}

impl Topic {
    pub(super) fn new(name: &str, is_private: bool, metrics: &Arc<RealtimeMetrics>) -> Self {
        Self {
            name: name.into(),
            is_private,
            metrics: metrics.clone(),
            presence: Mutex::new(Presence::with_gauge(&metrics.presence_entries)),
            members: RwLock::default(),
            join_buffers: JoinBuffers::default(),
            reserved: AtomicUsize::new(0),
            remote: OnceCell::new(),
            presence_received: Notify::new(),
        }
    }

    pub(super) fn reserve(&self) {
        self.reserved.fetch_add(1, Relaxed);
    }

    pub(super) fn release(&self) {
        self.reserved.fetch_sub(1, Relaxed);
    }

    /// Buffers database messages from now on, for a join with replay.
    pub(crate) fn create_join_buffer(&self) -> Arc<JoinBuffer> {
        self.join_buffers.create()
    }

    /// Subscribes to the topic on other nodes, once. Later callers wait for the first one.
    pub(crate) async fn connect<F>(&self, open: impl FnOnce() -> F)
    where
        F: Future<Output = Box<dyn RemoteTopic>>,
    {
        self.remote.get_or_init(open).await;
    }

    /// Sends a message to the topic's members on other nodes.
    pub(crate) fn publish_remote(&self, message: TopicMessage) {
        if let Some(remote) = self.remote.get() {
            remote.publish(message);
        }
    }

    /// Applies what another node sent.
    pub(crate) fn apply_remote(&self, from: NodeId, message: TopicMessage) -> Applied {
        match message {
            TopicMessage::Broadcast { id, broadcast } => {
                let delivered = match id {
                    Some(id) => self.broadcast_from_database(&broadcast, &id),
                    None => self.broadcast(&broadcast, None),
                };
                Applied {
                    deliveries: Deliveries::of_broadcast(delivered),
                    is_behind: false,
                }
            }
            TopicMessage::Presence { clock, change } => {
                let mut presence = self.presence();
                let merged = presence.merge(from, clock, &change);
                let delivered = merged.diff.map_or(0, |diff| self.send_presence_diff(&diff));
                Applied {
                    deliveries: Deliveries::of_presence(delivered),
                    is_behind: merged.is_behind,
                }
            }
            TopicMessage::PresenceState { clock, entries } => {
                let mut presence = self.presence();
                let diff = presence.merge_state(from, clock, &entries);
                let delivered = diff.map_or(0, |diff| self.send_presence_diff(&diff));
                drop(presence);
                self.presence_received.notify_waiters();
                Applied {
                    deliveries: Deliveries::of_presence(delivered),
                    is_behind: false,
                }
            }
        }
    }

    /// Sends this node's presence entries to the others.
    pub(crate) fn publish_presence(&self) {
        let presence = self.presence();
        let (clock, entries) = (presence.clock(), presence.local_entries());
        self.publish_remote(TopicMessage::PresenceState { clock, entries });
    }

    /// Another node is gone, and its presence entries with it.
    pub(crate) fn remove_node(&self, node: NodeId) {
        let mut presence = self.presence();
        if let Some(diff) = presence.remove_node(node) {
            self.send_presence_diff(&diff);
        }
    }

    /// Waits until all of these nodes have sent their presence entries.
    pub(crate) async fn wait_for_presence_of(&self, nodes: &[NodeId]) {
        loop {
            let received = self.presence_received.notified();
            tokio::pin!(received);
            received.as_mut().enable();
            if nodes.iter().all(|node| self.clock_of(*node).is_some()) {
                return;
            }
            received.await;
        }
    }

    /// How often this node's presence entries have changed.
    pub(crate) fn clock(&self) -> u64 {
        self.presence().clock()
    }

    pub(crate) fn clock_of(&self, node: NodeId) -> Option<u64> {
        self.presence().clock_of(node)
    }

    pub(super) fn add_member(&self, member: Arc<Member>, frames: InitialFrames<'_>) {
        let presence = self.presence();
        let version = member.version;
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let buffered = frames.buffer.map(|buffer| buffer.take());
        let messages = frames.replay.merge_live(buffered.unwrap_or_default());
        let messages = messages.into_iter().filter_map(|message| match message {
            InitialMessage::Replayed(message) => {
                message.encode(version, frames.join_ref, &self.name)
            }
            InitialMessage::Live(broadcast) if member.read_permissions().broadcast => {
                broadcast.encode(version, &self.name)
            }
            InitialMessage::Live(_) => None,
        });
        let mut encoded = vec![frames.reply];
        encoded.extend(messages);
        if frames.has_presence_state {
            let frame = Frame {
                join_ref: frames.join_ref,
                reference: None,
                topic: &self.name,
                event: "presence_state",
                payload: &presence.state(),
            };
            encoded.push(frame.encode(version));
        }
        member.outbound.push_together(encoded);
        members.insert(member.id, member);
    }

    /// Returns how many presence messages that caused.
    pub(super) fn remove_member(&self, id: ChannelId) -> usize {
        let mut presence = self.presence();
        self.members
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        let change = presence.untrack(id);
        change.map_or(0, |change| self.deliver_local_change(change))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members().is_empty() && self.reserved.load(Relaxed) == 0
    }

    /// Sends to all local members, except a sender that does not want its own. Returns to how many.
    pub(crate) fn broadcast(&self, broadcast: &Broadcast, sender: Option<ChannelId>) -> usize {
        self.fan_out(
            &self.members(),
            |version| broadcast.encode(version, &self.name),
            |member| {
                let is_own = sender == Some(member.id);
                member.read_permissions().broadcast && (!is_own || member.receives_own)
            },
        )
    }

    /// Sends a database message to all local members to whom it was not replayed, and adds it to
    /// the buffers of joins in flight.
    pub(crate) fn broadcast_from_database(&self, broadcast: &Broadcast, id: &str) -> usize {
        let members = self.members();
        self.join_buffers.add_to_all(id, broadcast);
        self.fan_out(
            &members,
            |version| broadcast.encode(version, &self.name),
            |member| member.read_permissions().broadcast && !member.was_replayed(id),
        )
    }

    /// Sets a channel's presence payload, which is the members of a JSON object. `reply` is queued
    /// before the diff. Returns to how many members the diff was sent.
    pub(crate) fn track(
        &self,
        member: &Member,
        key: &Arc<str>,
        payload: &str,
        reply: Message,
    ) -> usize {
        let mut presence = self.presence();
        let change = presence.track(member.id, key, payload);
        member.outbound.push(reply);
        if presence.len() == PRESENCE_WARNING {
            tracing::warn!(
                topic = %self.name,
                "topic has {PRESENCE_WARNING} presence entries, which are sent to every new channel"
            );
        }
        change.map_or(0, |change| self.deliver_local_change(change))
    }

    /// Removes a channel's presence entry. Returns to how many members the diff was sent.
    pub(crate) fn untrack(&self, member: &Member, reply: Message) -> usize {
        let mut presence = self.presence();
        let change = presence.untrack(member.id);
        member.outbound.push(reply);
        change.map_or(0, |change| self.deliver_local_change(change))
    }

    /// To be called with `presence` locked, so that all nodes receive changes in their order.
    fn deliver_local_change(&self, change: LocalChange) -> usize {
        let delivered = self.send_presence_diff(&change.diff);
        let LocalChange { change, clock, .. } = change;
        if let Some(remote) = self.remote.get() {
            remote.publish(TopicMessage::Presence { clock, change });
            remote.mark_presence_changed();
        }
        delivered
    }

    /// To be called with `presence` locked.
    fn send_presence_diff(&self, diff: &str) -> usize {
        let frame = Frame {
            join_ref: None,
            reference: None,
            topic: &self.name,
            event: "presence_diff",
            payload: diff,
        };
        self.fan_out(
            &self.members(),
            |version| Some(frame.encode(version)),
            |member| member.read_permissions().presence,
        )
    }

    /// Queues a frame for the members that receive it, encoded at most once per protocol version.
    fn fan_out(
        &self,
        members: &HashMap<ChannelId, Arc<Member>>,
        encode: impl Fn(Version) -> Option<Message>,
        receives: impl Fn(&Member) -> bool,
    ) -> usize {
        let (mut v1, mut v2) = (None, None);
        let mut delivered = 0;
        for member in members.values().filter(|member| receives(member)) {
            let frame = match member.version {
                Version::V1 => &mut v1,
                Version::V2 => &mut v2,
            };
            let frame = frame.get_or_insert_with(|| encode(member.version));
            if let Some(message) = frame {
                member.outbound.push(message.clone());
                delivered += 1;
            }
        }
        let encoded = [v1, v2].into_iter().flatten().flatten().count();
        self.metrics.count_frames(delivered, encoded);
        delivered
    }

    fn members(&self) -> RwLockReadGuard<'_, HashMap<ChannelId, Arc<Member>>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
