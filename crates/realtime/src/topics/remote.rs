//! What a topic needs to know of other nodes. `cluster` implements it, so that this module does not
//! depend on the broker.

use std::fmt;

use super::{ChannelId, PresenceEntry};
use crate::protocol::Broadcast;

/// One run of one node; no two runs share an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u64);

impl NodeId {
    pub(crate) fn generate() -> Self {
        Self(uuid::Uuid::new_v4().as_u64_pair().0)
    }
}

/// The same topic on other nodes.
pub(crate) trait RemoteTopic: fmt::Debug + Send + Sync {
    /// Sends a message to the topic's members on other nodes. Does not wait for the broker.
    fn publish(&self, message: TopicMessage);

    /// This node's presence entries have changed, which the next heartbeats repeat.
    fn mark_presence_changed(&self);
}

/// A message between nodes about one topic.
#[derive(Debug, Clone)]
pub(crate) enum TopicMessage {
    /// A broadcast. One from the database has an id, by which duplicates are recognised.
    Broadcast {
        id: Option<Box<str>>,
        broadcast: Broadcast,
    },
    /// One presence entry of the sending node has changed.
    Presence { clock: u64, change: PresenceChange },
    /// All presence entries of the sending node.
    PresenceState {
        clock: u64,
        entries: Vec<PresenceEntry>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PresenceChange {
    Joined(PresenceEntry),
    Left(ChannelId),
}
