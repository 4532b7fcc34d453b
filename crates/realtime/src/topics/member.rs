//! One channel of one socket, as its topic sees it.

use std::sync::{
    Arc,
    atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
};

use crate::{outbound_queue::OutboundQueue, protocol::Version};

/// Identifies a channel among all of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChannelId(pub(crate) u64);

impl ChannelId {
    /// An id that no channel of this process has had.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Relaxed))
    }
}

/// What a channel may receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadPermissions {
    pub(crate) broadcast: bool,
    pub(crate) presence: bool,
}

impl ReadPermissions {
    /// Everything, as on public channels.
    pub(crate) const ALL: Self = Self {
        broadcast: true,
        presence: true,
    };

    fn bits(self) -> u8 {
        u8::from(self.broadcast) | u8::from(self.presence) << 1
    }
}

/// A channel that receives what is sent to its topic.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: ChannelId,
    pub(crate) version: Version,
    pub(crate) outbound: Arc<OutboundQueue>,
    /// Whether it receives its own broadcasts.
    pub(crate) receives_own: bool,
    read_permissions: AtomicU8,
    /// Ids of the database messages that were replayed to it, sorted.
    replayed: Box<[Box<str>]>,
}

impl Member {
    pub(crate) fn new(
        id: ChannelId,
        version: Version,
        outbound: Arc<OutboundQueue>,
        receives_own: bool,
        read_permissions: ReadPermissions,
        mut replayed: Vec<Box<str>>,
    ) -> Self {
        replayed.sort_unstable();
        Self {
            id,
            version,
            outbound,
            receives_own,
            read_permissions: AtomicU8::new(read_permissions.bits()),
            replayed: replayed.into(),
        }
    }

    pub(crate) fn read_permissions(&self) -> ReadPermissions {
        let bits = self.read_permissions.load(Relaxed);
        ReadPermissions {
            broadcast: bits & 1 != 0,
            presence: bits & 2 != 0,
        }
    }

    pub(crate) fn set_read_permissions(&self, permissions: ReadPermissions) {
        self.read_permissions.store(permissions.bits(), Relaxed);
    }

    /// Whether the database message of that id was replayed to it.
    pub(crate) fn was_replayed(&self, id: &str) -> bool {
        self.replayed
            .binary_search_by(|own| (**own).cmp(id))
            .is_ok()
    }
}
