//! One topic and whoever is there.

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
    ChannelId, Member, Missed,
    missed::OnTheirWay,
    presence::{Changed, Presence},
};
use crate::{
    cluster::{Envelope, Link, NodeId, Outlet, RoomClock, Said},
    numbers::Numbers,
    protocol::{Broadcast, Frame, Ref, Version},
    replay::{Opening, Replay},
};

/// All of it is told to everybody who comes in.
const WARN_ABOVE: usize = 10_000;

/// A topic with at least one member, or one to come.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) topic: Arc<str>,
    pub(crate) is_private: bool,
    numbers: Arc<Numbers>,
    /// Taken before the members: what is told about presence must reach everybody in the order in
    /// which it happened.
    presence: Mutex<Presence>,
    members: RwLock<HashMap<ChannelId, Arc<Member>>>,
    /// Looked at with the members at hand: everybody is either here or on their way.
    on_their_way: OnTheirWay,
    /// How many are about to come in.
    reserved: AtomicUsize,
    /// The same room on other nodes.
    outlet: OnceCell<Outlet>,
    /// Something was heard of who is present elsewhere.
    heard: Notify,
}

/// How many frames something made.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) broadcasts: u64,
    pub(crate) presence: u64,
}

impl Told {
    fn broadcasts(told: usize) -> Self {
        Self {
            broadcasts: told as u64,
            presence: 0,
        }
    }

    fn presence(told: usize) -> Self {
        Self {
            broadcasts: 0,
            presence: told as u64,
        }
    }
}

/// How somebody comes in.
pub(crate) struct Entrance<'a> {
    pub(crate) join_ref: Option<&'a Ref>,
    /// The answer to their join, which they are told first.
    pub(crate) reply: Message,
    /// What they are told again.
    pub(crate) replay: Replay,
    /// What they missed on their way.
    pub(crate) missed: Option<Arc<Missed>>,
    /// Whether they are told who is there.
    pub(crate) is_told_state: bool,
}

impl Room {
    pub(super) fn new(topic: &str, is_private: bool, numbers: &Arc<Numbers>) -> Self {
        Self {
            topic: topic.into(),
            is_private,
            numbers: numbers.clone(),
            presence: Mutex::new(Presence::counted_by(&numbers.present)),
            members: RwLock::default(),
            on_their_way: OnTheirWay::default(),
            reserved: AtomicUsize::new(0),
            outlet: OnceCell::new(),
            heard: Notify::new(),
        }
    }

    pub(super) fn reserve(&self) {
        self.reserved.fetch_add(1, Relaxed);
    }

    pub(super) fn give_back(&self) {
        self.reserved.fetch_sub(1, Relaxed);
    }

    /// Keeps what the database sends from now on for somebody who is on their way.
    pub(crate) fn keep(&self) -> Arc<Missed> {
        self.on_their_way.add()
    }

    /// Makes sure that other nodes are heard. Whoever comes first waits to hear who is there.
    pub(crate) async fn connect(self: &Arc<Self>, link: &Link) {
        self.outlet.get_or_init(|| link.open(self)).await;
    }

    /// Tells other nodes.
    pub(crate) fn say_elsewhere(&self, said: Said) {
        if let Some(outlet) = self.outlet.get() {
            outlet.say(said);
        }
    }

    /// Another node says something. Gives how many were told.
    pub(crate) fn hear(&self, link: &Link, envelope: Envelope) -> Told {
        let from = envelope.from;
        match envelope.said {
            Said::Broadcast { id, broadcast } => Told::broadcasts(match id {
                Some(id) => self.broadcast_once(&broadcast, &id),
                None => self.broadcast(&broadcast, None),
            }),
            Said::Presence { clock, change } => {
                let mut presence = self.presence();
                let merged = presence.merge(from, clock, &change);
                let told = merged.diff.map_or(0, |diff| self.tell_presence(&diff));
                drop(presence);
                if merged.is_behind {
                    link.ask_presence(Some(from), &self.topic, self.is_private);
                }
                Told::presence(told)
            }
            Said::PresenceState { clock, present } => {
                let mut presence = self.presence();
                let diff = presence.merge_state(from, clock, &present);
                let told = diff.map_or(0, |diff| self.tell_presence(&diff));
                drop(presence);
                self.heard.notify_waiters();
                Told::presence(told)
            }
            _ => Told::default(),
        }
    }

    /// Tells other nodes who of ours is present.
    pub(crate) fn announce(&self) {
        let presence = self.presence();
        let (clock, present) = (presence.clock(), presence.own());
        self.say_elsewhere(Said::PresenceState { clock, present });
    }

    /// A node is gone.
    pub(crate) fn forget(&self, node: NodeId) {
        let mut presence = self.presence();
        if let Some(diff) = presence.forget(node) {
            self.tell_presence(&diff);
        }
    }

    /// Waits until all of these nodes have said who is present there.
    pub(crate) async fn knows_of(&self, nodes: &[NodeId]) {
        loop {
            let heard = self.heard.notified();
            tokio::pin!(heard);
            heard.as_mut().enable();
            if nodes.iter().all(|node| self.clock_of(*node).is_some()) {
                return;
            }
            heard.await;
        }
    }

    /// How often presence has changed here.
    pub(crate) fn clock(&self) -> u64 {
        self.presence().clock()
    }

    pub(crate) fn clock_of(&self, node: NodeId) -> Option<u64> {
        self.presence().clock_of(node)
    }

    pub(crate) fn room_clock(&self) -> RoomClock {
        RoomClock {
            topic: (&*self.topic).into(),
            is_private: self.is_private,
            clock: self.clock(),
        }
    }

    pub(super) fn enter(&self, member: Arc<Member>, entrance: Entrance<'_>) {
        let presence = self.presence();
        let outbox = member.outbox.clone();
        let version = member.version;
        {
            let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
            let missed = entrance.missed.map(|missed| missed.take());
            let heard = entrance.replay.and(missed.unwrap_or_default());
            let heard = heard.into_iter().filter_map(|opening| match opening {
                Opening::Again(message) => message.encode(version, entrance.join_ref, &self.topic),
                Opening::First(told) if member.hearing().broadcast => {
                    told.encode(version, &self.topic)
                }
                Opening::First(_) => None,
            });
            let mut opening = vec![entrance.reply];
            opening.extend(heard);
            if entrance.is_told_state {
                let frame = Frame {
                    join_ref: entrance.join_ref,
                    reference: None,
                    topic: &self.topic,
                    event: "presence_state",
                    payload: &presence.state(),
                };
                opening.push(frame.encode(version));
            }
            outbox.push_together(opening);
            members.insert(member.id, member);
        }
    }

    /// Gives the presence messages that it made.
    pub(super) fn leave(&self, id: ChannelId) -> usize {
        let mut presence = self.presence();
        self.members
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        let changed = presence.untrack(id);
        changed.map_or(0, |changed| self.tell_changed(changed))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members().is_empty() && self.reserved.load(Relaxed) == 0
    }

    /// Tells everybody, except a sender that does not want its own. Gives how many were told.
    pub(crate) fn broadcast(&self, broadcast: &Broadcast, sender: Option<ChannelId>) -> usize {
        self.tell(
            &self.members(),
            |version| broadcast.encode(version, &self.topic),
            |member| {
                let is_own = sender == Some(member.id);
                member.hearing().broadcast && (!is_own || member.gets_own)
            },
        )
    }

    /// Tells everybody who has not been told it before, by its number.
    pub(crate) fn broadcast_once(&self, broadcast: &Broadcast, id: &str) -> usize {
        let members = self.members();
        self.on_their_way.miss(id, broadcast);
        self.tell(
            &members,
            |version| broadcast.encode(version, &self.topic),
            |member| member.hearing().broadcast && !member.has_got(id),
        )
    }

    /// A channel says something about itself, as the members of an object; `reply` stands before
    /// the news of it. Gives how many were told.
    pub(crate) fn track(
        &self,
        member: &Member,
        key: &Arc<str>,
        payload: &str,
        reply: Message,
    ) -> usize {
        let mut presence = self.presence();
        let changed = presence.track(member.id, key, payload);
        member.outbox.push(reply);
        if presence.len() == WARN_ABOVE {
            tracing::warn!(topic = %self.topic, "{WARN_ABOVE} are present on one topic");
        }
        changed.map_or(0, |changed| self.tell_changed(changed))
    }

    /// A channel says nothing about itself any more.
    pub(crate) fn untrack(&self, member: &Member, reply: Message) -> usize {
        let mut presence = self.presence();
        let changed = presence.untrack(member.id);
        member.outbox.push(reply);
        changed.map_or(0, |changed| self.tell_changed(changed))
    }

    /// To be called with the presence at hand: here and elsewhere, changes are told in their order.
    fn tell_changed(&self, changed: Changed) -> usize {
        let told = self.tell_presence(&changed.diff);
        let Changed { change, clock, .. } = changed;
        if let Some(outlet) = self.outlet.get() {
            outlet.say(Said::Presence { clock, change });
            outlet.touch(self);
        }
        told
    }

    /// To be called with the presence at hand.
    fn tell_presence(&self, diff: &str) -> usize {
        let frame = Frame {
            join_ref: None,
            reference: None,
            topic: &self.topic,
            event: "presence_diff",
            payload: diff,
        };
        self.tell(
            &self.members(),
            |version| Some(frame.encode(version)),
            |member| member.hearing().presence,
        )
    }

    /// Each form is made once, when the first member needs it.
    fn tell(
        &self,
        members: &HashMap<ChannelId, Arc<Member>>,
        encode: impl Fn(Version) -> Option<Message>,
        is_told: impl Fn(&Member) -> bool,
    ) -> usize {
        let (mut v1, mut v2) = (None, None);
        let mut told = 0;
        for member in members.values().filter(|member| is_told(member)) {
            let form = match member.version {
                Version::V1 => &mut v1,
                Version::V2 => &mut v2,
            };
            let form = form.get_or_insert_with(|| encode(member.version));
            if let Some(message) = form {
                member.outbox.push(message.clone());
                told += 1;
            }
        }
        let encoded = [v1, v2].into_iter().flatten().flatten().count();
        self.numbers.said(told, encoded);
        told
    }

    fn members(&self) -> RwLockReadGuard<'_, HashMap<ChannelId, Arc<Member>>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
