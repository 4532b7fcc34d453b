//! What a project's sockets share: rooms, and the counts that limits are held against (§11).

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use crate::{
    protocol::Broadcast,
    rate::Rate,
    rooms::{ChannelId, Rooms},
    stream::Stream,
    subscriptions::Subscriptions,
};

/// The meeting place of one project on this node.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    pub(crate) rooms: Rooms,
    pub(crate) events: Rate,
    pub(crate) joins: Rate,
    pub(crate) presence_events: Rate,
    /// Row changes that were told.
    pub(crate) change_events: Rate,
    pub(crate) stream: Stream,
    pub(crate) subscriptions: Arc<Subscriptions>,
    /// Sockets that have a channel.
    sockets: AtomicUsize,
}

impl Hub {
    /// Says something to everybody on a topic.
    pub(crate) fn broadcast(
        &self,
        topic: &str,
        is_private: bool,
        broadcast: &Broadcast,
        sender: Option<ChannelId>,
    ) {
        let room = self.rooms.find(topic, is_private);
        let told = room.map_or(0, |room| room.broadcast(broadcast, sender));
        self.events.add(1 + told as u64);
    }

    /// Says something that the database sent. Whoever was told of it when they joined is not told
    /// again.
    pub(crate) fn broadcast_once(
        &self,
        topic: &str,
        is_private: bool,
        broadcast: &Broadcast,
        id: &str,
    ) {
        let room = self.rooms.find(topic, is_private);
        let told = room.map_or(0, |room| room.broadcast_once(broadcast, id));
        self.events.add(1 + told as u64);
    }

    /// How many sockets have a channel.
    pub(crate) fn sockets(&self) -> usize {
        self.sockets.load(Relaxed)
    }

    /// A socket gets its first channel.
    pub(crate) fn seat(self: &Arc<Self>, max: usize) -> Option<Seat> {
        let taken = self
            .sockets
            .fetch_update(Relaxed, Relaxed, |taken| (taken < max).then_some(taken + 1));
        taken.ok().map(|_| Seat(self.clone()))
    }
}

/// A channel that nobody of this process has had.
pub(crate) fn new_channel_id() -> ChannelId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ChannelId(NEXT.fetch_add(1, Relaxed))
}

/// One of the sockets that a project may have.
#[derive(Debug)]
pub(crate) struct Seat(Arc<Hub>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.sockets.fetch_sub(1, Relaxed);
    }
}
