//! What a project's sockets share: rooms, and the counts that limits are held against (§11).

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use plinth_project::ProjectRef;
use tokio_util::sync::CancellationToken;

use crate::{
    cluster::{Cluster, Elsewhere, Link, Said},
    numbers::Numbers,
    protocol::Broadcast,
    rate::Rate,
    rooms::{ChannelId, Missed, Room, Rooms},
    stream::Stream,
    subscriptions::Subscriptions,
};

/// The meeting place of one project on this node.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) rooms: Rooms,
    pub(crate) events: Rate,
    pub(crate) joins: Rate,
    pub(crate) presence_events: Rate,
    /// Row changes that were told.
    pub(crate) change_events: Rate,
    pub(crate) stream: Stream,
    pub(crate) subscriptions: Arc<Subscriptions>,
    link: OnceLock<Arc<Link>>,
    /// Sockets that have a channel.
    sockets: AtomicUsize,
}

impl Hub {
    pub(crate) fn of(project: &ProjectRef) -> Self {
        let numbers = Arc::new(Numbers::of(project));
        Self {
            rooms: Rooms::counted_by(&numbers),
            events: numbers.events(),
            joins: numbers.joins(),
            presence_events: numbers.presence_events(),
            change_events: numbers.change_events(),
            stream: Stream::default(),
            subscriptions: Arc::new(Subscriptions::counted_by(numbers.subscribers.clone())),
            link: OnceLock::new(),
            sockets: AtomicUsize::new(0),
            numbers,
        }
    }

    /// From now on other nodes are heard.
    pub(crate) fn join_cluster(
        self: &Arc<Self>,
        cluster: &Cluster,
        project: &ProjectRef,
        stop: &CancellationToken,
    ) {
        let hub = Arc::downgrade(self);
        let start = || Link::start(cluster, project, &self.numbers, hub, stop.clone());
        self.link.get_or_init(start);
    }

    /// The way to other nodes, if there may be any.
    pub(crate) fn link(&self) -> Option<&Arc<Link>> {
        self.link.get()
    }

    /// Keeps a room for somebody who is about to join, and lets it hear other nodes. Whoever wants
    /// the past has everything kept that is told from now on.
    pub(crate) async fn prepare(
        self: &Arc<Self>,
        topic: &str,
        is_private: bool,
        wants_past: bool,
    ) -> Option<Reservation> {
        let link = self.link().cloned();
        if link.is_none() && !wants_past {
            return None;
        }
        let room = self.rooms.reserve(topic, is_private);
        let mut reservation = Reservation {
            hub: self.clone(),
            room,
            missed: None,
        };
        if let Some(link) = link {
            reservation.room.connect(&link).await;
        }
        reservation.missed = wants_past.then(|| reservation.room.keep());
        Some(reservation)
    }

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
        self.say_elsewhere(topic, is_private, None, broadcast);
    }

    fn say_elsewhere(
        &self,
        topic: &str,
        is_private: bool,
        id: Option<&str>,
        broadcast: &Broadcast,
    ) {
        if let Some(link) = self.link() {
            let said = Said::Broadcast {
                id: id.map(Into::into),
                broadcast: broadcast.clone(),
            };
            link.say(topic, is_private, said);
        }
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
        self.say_elsewhere(topic, is_private, Some(id), broadcast);
    }

    /// How many sockets have a channel, on all nodes.
    pub(crate) fn sockets(&self) -> usize {
        let elsewhere = usize::try_from(self.elsewhere().sockets).unwrap_or(usize::MAX);
        self.own_sockets().saturating_add(elsewhere)
    }

    /// The same, here.
    pub(crate) fn own_sockets(&self) -> usize {
        self.sockets.load(Relaxed)
    }

    /// Per second, on all nodes.
    pub(crate) fn events_per_second(&self) -> u64 {
        self.events.average() + self.elsewhere().events
    }

    pub(crate) fn joins_per_second(&self) -> u64 {
        self.joins.average() + self.elsewhere().joins
    }

    pub(crate) fn presence_events_per_second(&self) -> u64 {
        self.presence_events.average() + self.elsewhere().presence_events
    }

    fn elsewhere(&self) -> Elsewhere {
        self.link().map(|link| link.elsewhere()).unwrap_or_default()
    }

    /// A socket gets its first channel.
    pub(crate) fn seat(self: &Arc<Self>, max: usize) -> Option<Seat> {
        let max =
            max.saturating_sub(usize::try_from(self.elsewhere().sockets).unwrap_or(usize::MAX));
        let taken = self
            .sockets
            .fetch_update(Relaxed, Relaxed, |taken| (taken < max).then_some(taken + 1));
        taken.ok()?;
        self.numbers.connected.increment(1.0);
        self.numbers.connected_cluster.increment(1.0);
        Some(Seat(self.clone()))
    }
}

/// A room that somebody is about to enter.
#[derive(Debug)]
pub(crate) struct Reservation {
    hub: Arc<Hub>,
    room: Arc<Room>,
    /// What is told meanwhile.
    pub(crate) missed: Option<Arc<Missed>>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.hub.rooms.give_back(&self.room);
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
        self.0.numbers.connected.decrement(1.0);
        self.0.numbers.connected_cluster.decrement(1.0);
    }
}
