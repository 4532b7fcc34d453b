//! What the nodes of one project know of each other (§14.5, §14.6).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use async_nats::Subject;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use plinth_project::ProjectRef;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{Alive, Cluster, Envelope, NodeId, Outlet, RoomClock, Said};
use crate::{
    hub::Hub,
    numbers::{Numbers, Share},
    rooms::{Room, Told},
};

/// How often a node says that it is there.
const PULSE: Duration = Duration::from_millis(1500);
/// A node that is silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// Clients of a node that goes come back elsewhere within this time, and do not flap.
const GRACE: Duration = Duration::from_secs(5);
/// A room that changed is told of in so many pulses.
const REPEATS: u8 = 3;
/// Every so many pulses all rooms are told of.
const ALL_ROOMS: u64 = 10;
/// But no more than so many.
const MOST_ROOMS: usize = 5_000;
/// How long other nodes may take to answer the first word of this one.
const SETTLING: Duration = Duration::from_millis(150);
/// How long somebody who comes into a room waits to hear who is there.
const PATIENCE: Duration = Duration::from_secs(1);

/// One project on this node, as part of a cluster.
#[derive(Debug)]
pub(crate) struct Link {
    cluster: Cluster,
    hub: Weak<Hub>,
    prefix: String,
    everybody: Subject,
    own: Weak<Link>,
    peers: Mutex<HashMap<NodeId, Peer>>,
    /// Their sockets, among those of all nodes.
    sockets: Mutex<Share>,
    /// Rooms whose presence changed, and in how many more pulses that is told.
    touched: Mutex<HashMap<(Box<str>, bool), u8>>,
    /// Whether other nodes have had the time to answer the first word of this one.
    is_settled: watch::Sender<bool>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Peer {
    heard_at: Instant,
    leaves_at: Option<Instant>,
    alive: Alive,
}

/// What other nodes have, for limits that hold for all together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Elsewhere {
    pub(crate) sockets: u64,
    pub(crate) events: u64,
    pub(crate) joins: u64,
    pub(crate) presence_events: u64,
}

impl Link {
    /// Goes on as long as anybody holds it.
    pub(crate) fn start(
        cluster: &Cluster,
        project: &ProjectRef,
        numbers: &Numbers,
        hub: Weak<Hub>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let cluster = cluster.counted_by(&numbers.broker);
        let prefix = format!("rt.{project}");
        let everybody: Subject = format!("{prefix}.all").into();
        Arc::new_cyclic(|own: &Weak<Link>| {
            let task = tokio::spawn(run(
                own.clone(),
                hub.clone(),
                cluster.clone(),
                everybody.clone(),
                stop,
            ));
            Self {
                cluster,
                hub,
                prefix,
                everybody,
                own: own.clone(),
                peers: Mutex::default(),
                sockets: Mutex::new(Share::of(&numbers.connected_cluster)),
                touched: Mutex::default(),
                is_settled: watch::Sender::new(false),
                _task: AbortOnDropHandle::new(task),
            }
        })
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Where a room is talked in. Topics are anything; subjects are not.
    fn subject(&self, topic: &str, is_private: bool) -> Subject {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, topic.as_bytes());
        let name = BASE64_URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]);
        let kind = if is_private { 'p' } else { 'u' };
        format!("{}.{kind}.{name}", self.prefix).into()
    }

    /// Where the database's log is passed on.
    pub(super) fn log_subject(&self) -> Subject {
        format!("{}.log", self.prefix).into()
    }

    /// Says something in a room in which nobody of ours is.
    pub(crate) fn say(&self, topic: &str, is_private: bool, said: Said) {
        self.cluster.say(&self.subject(topic, is_private), said);
    }

    /// Connects a room with the same room elsewhere, and waits to hear who is there.
    pub(crate) async fn open(&self, room: &Arc<Room>) -> Outlet {
        let subject = self.subject(&room.topic, room.is_private);
        let outlet = Outlet::open(
            &self.own,
            self.cluster.clone(),
            subject,
            Arc::downgrade(room),
        )
        .await;
        let hearing = async {
            _ = self
                .is_settled
                .subscribe()
                .wait_for(|is_settled| *is_settled)
                .await;
            self.ask_presence(None, &room.topic, room.is_private);
            room.knows_of(&self.present_peers()).await;
        };
        _ = timeout(PATIENCE, hearing).await;
        outlet
    }

    /// Whoever is in a room shall be told there.
    pub(crate) fn ask_presence(&self, of: Option<NodeId>, topic: &str, is_private: bool) {
        let topic = topic.into();
        let ask = Said::AskPresence {
            of,
            topic,
            is_private,
        };
        self.cluster.say(&self.everybody, ask);
    }

    /// Who is present in a room has changed.
    pub(crate) fn touch(&self, topic: &str, is_private: bool) {
        self.touched().insert((topic.into(), is_private), REPEATS);
    }

    pub(crate) fn elsewhere(&self) -> Elsewhere {
        self.peers()
            .values()
            .fold(Elsewhere::default(), |sum, peer| Elsewhere {
                sockets: sum.sockets + peer.alive.sockets,
                events: sum.events + peer.alive.events,
                joins: sum.joins + peer.alive.joins,
                presence_events: sum.presence_events + peer.alive.presence_events,
            })
    }

    fn count_sockets(&self) {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.set(usize::try_from(self.elsewhere().sockets).unwrap_or(usize::MAX));
    }

    /// What another node said was told to so many here.
    pub(super) fn count_told(&self, told: &Told) {
        let Some(hub) = self.hub.upgrade() else {
            return;
        };
        if told.broadcasts > 0 {
            hub.events.add(told.broadcasts);
        }
        if told.presence > 0 {
            hub.presence_events.add(told.presence);
        }
    }

    fn present_peers(&self) -> Vec<NodeId> {
        let peers = self.peers();
        let is_there =
            |peer: &Peer| peer.heard_at.elapsed() < 3 * PULSE && peer.leaves_at.is_none();
        let there = peers.iter().filter(|(_, peer)| is_there(peer));
        there.map(|(node, _)| *node).collect()
    }

    fn hear(&self, hub: &Hub, envelope: Envelope) {
        let from = envelope.from;
        match envelope.said {
            Said::Alive(alive) => self.hear_alive(hub, from, alive),
            Said::Bye => {
                if let Some(peer) = self.peers().get_mut(&from) {
                    peer.leaves_at = Some(Instant::now() + GRACE);
                }
            }
            Said::AskPresence {
                of,
                topic,
                is_private,
            } => {
                if of.is_some_and(|node| node != self.cluster.node()) {
                    return;
                }
                match hub.rooms.find(&topic, is_private) {
                    Some(room) => room.announce(),
                    // So that nobody waits for us.
                    None => self.say(
                        &topic,
                        is_private,
                        Said::PresenceState {
                            clock: 0,
                            present: Vec::new(),
                        },
                    ),
                }
            }
            _ => {}
        }
    }

    fn hear_alive(&self, hub: &Hub, from: NodeId, alive: Alive) {
        for RoomClock {
            topic,
            is_private,
            clock,
        } in &alive.rooms
        {
            if let Some(room) = hub.rooms.find(topic, *is_private)
                && room.clock_of(from) != Some(*clock)
            {
                self.ask_presence(Some(from), topic, *is_private);
            }
        }
        let mut peers = self.peers();
        // A new run of a node takes the place of the old one.
        let old: Vec<NodeId> = peers
            .iter()
            .filter(|(node, peer)| {
                **node != from && !alive.name.is_empty() && peer.alive.name == alive.name
            })
            .map(|(node, _)| *node)
            .collect();
        for node in &old {
            peers.remove(node);
        }
        let known = peers.get(&from);
        let is_new = known.is_none();
        let leaves_at = known.and_then(|peer| peer.leaves_at);
        peers.insert(
            from,
            Peer {
                heard_at: Instant::now(),
                leaves_at,
                alive,
            },
        );
        drop(peers);
        self.count_sockets();
        for node in old {
            forget(hub, node);
        }
        if is_new {
            // So that it knows of us before it lets anybody in.
            self.say_alive(hub, Vec::new());
        }
    }

    fn pulse(&self, hub: &Hub, number: u64) {
        let now = Instant::now();
        let is_gone = |peer: &Peer| {
            peer.heard_at + SILENCE <= now
                || peer.leaves_at.is_some_and(|leaves_at| leaves_at <= now)
        };
        let mut peers = self.peers();
        let gone: Vec<NodeId> = peers
            .iter()
            .filter(|(_, peer)| is_gone(peer))
            .map(|(node, _)| *node)
            .collect();
        for node in &gone {
            peers.remove(node);
        }
        drop(peers);
        self.count_sockets();
        for node in gone {
            tracing::warn!("a node is gone: {node:?}");
            forget(hub, node);
        }
        let rooms = match number % ALL_ROOMS {
            0 => self.all_rooms(hub),
            _ => self.touched_rooms(hub),
        };
        self.say_alive(hub, rooms);
    }

    fn say_alive(&self, hub: &Hub, rooms: Vec<RoomClock>) {
        let alive = Alive {
            name: self.cluster.name().into(),
            sockets: hub.own_sockets() as u64,
            events: hub.events.average(),
            joins: hub.joins.average(),
            presence_events: hub.presence_events.average(),
            rooms,
        };
        self.cluster.say(&self.everybody, Said::Alive(alive));
    }

    fn all_rooms(&self, hub: &Hub) -> Vec<RoomClock> {
        let mut rooms = Vec::new();
        hub.rooms.for_each(|room| {
            if rooms.len() < MOST_ROOMS && room.clock() > 0 {
                rooms.push(room.room_clock());
            }
        });
        rooms
    }

    fn touched_rooms(&self, hub: &Hub) -> Vec<RoomClock> {
        let mut touched = self.touched();
        let mut rooms = Vec::with_capacity(touched.len());
        touched.retain(|(topic, is_private), repeats| {
            if let Some(room) = hub.rooms.find(topic, *is_private) {
                rooms.push(room.room_clock());
            }
            *repeats -= 1;
            *repeats > 0
        });
        rooms
    }

    /// The broker was away: what was said meanwhile is lost on both sides.
    fn catch_up(&self, hub: &Hub) {
        hub.rooms.for_each(|room| {
            room.announce();
            self.ask_presence(None, &room.topic, room.is_private);
        });
    }

    fn peers(&self) -> MutexGuard<'_, HashMap<NodeId, Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touched(&self) -> MutexGuard<'_, HashMap<(Box<str>, bool), u8>> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(hub: &Hub, node: NodeId) {
    hub.rooms.for_each(|room| room.forget(node));
}

async fn run(
    link: Weak<Link>,
    hub: Weak<Hub>,
    cluster: Cluster,
    everybody: Subject,
    stop: CancellationToken,
) {
    let mut listening = loop {
        match cluster.listen(&everybody).await {
            Some(listening) => break listening,
            None => tokio::time::sleep(PULSE).await,
        }
    };
    let settling = tokio::time::sleep(SETTLING);
    tokio::pin!(settling);
    let mut is_settled = false;
    let mut connections = cluster.connections();
    let mut pulse = tokio::time::interval(PULSE);
    let mut number = 1;
    loop {
        let heard = tokio::select! {
            envelope = listening.next() => match envelope {
                Some(envelope) => Some(envelope),
                None => return,
            },
            _ = pulse.tick() => None,
            () = &mut settling, if !is_settled => {
                is_settled = true;
                if let Some(link) = link.upgrade() {
                    link.is_settled.send_replace(true);
                }
                continue;
            }
            () = stop.cancelled() => {
                cluster.say(&everybody, Said::Bye);
                return;
            }
            _ = connections.changed() => {
                if let (Some(link), Some(hub)) = (link.upgrade(), hub.upgrade()) {
                    link.catch_up(&hub);
                }
                continue;
            }
        };
        let (Some(link), Some(hub)) = (link.upgrade(), hub.upgrade()) else {
            return;
        };
        match heard {
            Some(envelope) => link.hear(&hub, envelope),
            None => {
                link.pulse(&hub, number);
                number += 1;
            }
        }
    }
}
