//! One topic and whoever is there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use axum::extract::ws::Message;

use super::{ChannelId, Member, presence::Presence};
use crate::protocol::{Broadcast, Frame, Ref, Version};

/// A topic with at least one member.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) topic: Arc<str>,
    pub(crate) is_private: bool,
    /// Taken before the members: what is told about presence must reach everybody in the order in
    /// which it happened.
    presence: Mutex<Presence>,
    members: RwLock<HashMap<ChannelId, Arc<Member>>>,
}

/// How somebody comes in.
pub(crate) struct Entrance<'a> {
    /// What they are told first.
    pub(crate) opening: Vec<Message>,
    /// Whether they are told who is there, as members of which join.
    pub(crate) state_for: Option<Option<&'a Ref>>,
}

impl Room {
    pub(super) fn new(topic: &str, is_private: bool) -> Self {
        Self {
            topic: topic.into(),
            is_private,
            presence: Mutex::default(),
            members: RwLock::default(),
        }
    }

    pub(super) fn enter(&self, member: Arc<Member>, entrance: Entrance<'_>) {
        let presence = self.presence();
        let outbox = member.outbox.clone();
        let version = member.version;
        {
            let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
            for message in entrance.opening {
                outbox.push(message);
            }
            members.insert(member.id, member);
        }
        if let Some(join_ref) = entrance.state_for {
            let frame = Frame {
                join_ref,
                reference: None,
                topic: &self.topic,
                event: "presence_state",
                payload: &presence.state(),
            };
            outbox.push(frame.encode(version));
        }
    }

    /// Gives the presence messages that it made.
    pub(super) fn leave(&self, id: ChannelId) -> usize {
        let mut presence = self.presence();
        self.members
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        let diff = presence.untrack(id);
        diff.map_or(0, |diff| self.tell_presence(&diff))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Tells everybody, except a sender that does not want its own. Gives how many were told.
    pub(crate) fn broadcast(&self, broadcast: &Broadcast, sender: Option<ChannelId>) -> usize {
        self.tell(
            |version| broadcast.encode(version, &self.topic),
            |member| {
                let is_own = sender == Some(member.id);
                member.hearing().broadcast && (!is_own || member.gets_own)
            },
        )
    }

    /// Tells everybody who has not been told it before, by its number.
    pub(crate) fn broadcast_once(&self, broadcast: &Broadcast, id: &str) -> usize {
        self.tell(
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
        let diff = presence.track(member.id, key, payload);
        member.outbox.push(reply);
        diff.map_or(0, |diff| self.tell_presence(&diff))
    }

    /// A channel says nothing about itself any more.
    pub(crate) fn untrack(&self, member: &Member, reply: Message) -> usize {
        let mut presence = self.presence();
        let diff = presence.untrack(member.id);
        member.outbox.push(reply);
        diff.map_or(0, |diff| self.tell_presence(&diff))
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
            |version| Some(frame.encode(version)),
            |member| member.hearing().presence,
        )
    }

    /// Each form is made once, when the first member needs it.
    fn tell(
        &self,
        encode: impl Fn(Version) -> Option<Message>,
        is_told: impl Fn(&Member) -> bool,
    ) -> usize {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
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
        told
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
