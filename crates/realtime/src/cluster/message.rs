//! Messages between nodes.

use bytes::Bytes;
use plinth_db::replication::Lsn;

use crate::topics::{NodeId, TopicMessage};

/// A message and the node that sent it.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) from: NodeId,
    pub(crate) message: NodeMessage,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeMessage {
    /// For the members of the topic on whose subject it is published.
    Topic(TopicMessage),
    Heartbeat(Heartbeat),
    /// The node shuts down. On the subject of the WAL: it reads the slot no longer, or follows no longer.
    Leaving,
    /// One node, or all, shall publish their presence entries of a topic on its subject.
    RequestPresence {
        of: Option<NodeId>,
        topic: Box<str>,
        is_private: bool,
    },
    /// WAL that the node with the replication slot has read.
    Wal(WalPart),
    /// The node wants to receive that.
    FollowWal(FollowRequest),
}

/// What a node says about itself, periodically.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Heartbeat {
    /// The node's name in the settings; empty if it has none.
    pub(crate) name: Box<str>,
    pub(crate) sockets: u64,
    /// Per second, as everything below.
    pub(crate) events: u64,
    pub(crate) joins: u64,
    pub(crate) presence_events: u64,
    /// Clocks of topics whose presence has changed recently, or of all.
    pub(crate) clocks: Vec<TopicClock>,
}

/// How often the sending node's presence entries of a topic have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopicClock {
    pub(crate) topic: Box<str>,
    pub(crate) is_private: bool,
    pub(crate) clock: u64,
}

/// What a node that follows the WAL has, and what it needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FollowRequest {
    /// Everything up to here is delivered to its subscribers; zero if it has received nothing yet.
    pub(crate) delivered: Lsn,
    /// The run in which it misses a part: it waits for everything since `delivered`.
    pub(crate) missing_in: Option<u64>,
    /// Whether it does not know the tables.
    pub(crate) needs_tables: bool,
}

/// Messages of the WAL, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WalPart {
    /// Counts how often the node has begun to read the slot, each time at the confirmed position.
    pub(crate) run: u64,
    /// Counts the parts of one run; a gap means that the broker lost some.
    pub(crate) number: u64,
    /// What comes after this position can be read from the slot again.
    pub(crate) confirmed: Lsn,
    /// The end of the last transaction before this part.
    pub(crate) relayed: Lsn,
    pub(crate) pieces: Vec<WalPiece>,
}

/// One message of the replication stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WalPiece {
    pub(crate) position: Lsn,
    /// A relation message that was sent before and is repeated for a new follower.
    pub(crate) is_repeated: bool,
    pub(crate) data: Bytes,
}

impl From<TopicMessage> for NodeMessage {
    fn from(message: TopicMessage) -> Self {
        Self::Topic(message)
    }
}
