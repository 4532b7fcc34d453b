//! One channel of one socket, as a room sees it.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::Relaxed},
};

use crate::{protocol::Version, socket::Outbox};

/// A channel's number; no two of a process share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChannelId(pub(crate) u64);

/// What a member may hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hearing {
    pub(crate) broadcast: bool,
    pub(crate) presence: bool,
}

impl Hearing {
    /// Everything, as on public channels.
    pub(crate) const ALL: Self = Self {
        broadcast: true,
        presence: true,
    };

    fn bits(self) -> u8 {
        u8::from(self.broadcast) | u8::from(self.presence) << 1
    }
}

/// One who is told what is said.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: ChannelId,
    pub(crate) version: Version,
    pub(crate) outbox: Arc<Outbox>,
    /// Whether it gets what it sends.
    pub(crate) gets_own: bool,
    hearing: AtomicU8,
    /// Messages of the database that it got when it joined, sorted.
    replayed: Box<[Box<str>]>,
}

impl Member {
    pub(crate) fn new(
        id: ChannelId,
        version: Version,
        outbox: Arc<Outbox>,
        gets_own: bool,
        hearing: Hearing,
        mut replayed: Vec<Box<str>>,
    ) -> Self {
        replayed.sort_unstable();
        Self {
            id,
            version,
            outbox,
            gets_own,
            hearing: AtomicU8::new(hearing.bits()),
            replayed: replayed.into(),
        }
    }

    pub(crate) fn hearing(&self) -> Hearing {
        let bits = self.hearing.load(Relaxed);
        Hearing {
            broadcast: bits & 1 != 0,
            presence: bits & 2 != 0,
        }
    }

    pub(crate) fn has_got(&self, id: &str) -> bool {
        self.replayed
            .binary_search_by(|own| (**own).cmp(id))
            .is_ok()
    }

    pub(crate) fn set_hearing(&self, hearing: Hearing) {
        self.hearing.store(hearing.bits(), Relaxed);
    }
}
