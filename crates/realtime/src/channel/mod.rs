//! A channel: one topic that one socket has joined (§5 to §8).

mod join;
mod presence_calls;
mod refusal;
mod system;
mod wish;

use std::sync::Arc;

use plinth_project::ProjectDb;

pub(crate) use join::{Admission, Joining};
pub(crate) use presence_calls::PresenceCalls;
pub(crate) use refusal::JoinRefusal;
pub(crate) use system::{close_frame, system_frame};
pub(crate) use wish::Wish;

use crate::{
    authorize::Asker,
    hub::Hub,
    identity::Identity,
    protocol::Ref,
    rooms::{Member, Room},
    subscriptions::{Entry, Subscriber, Subscribing},
};

/// What topics of channels begin with.
pub(crate) const TOPIC_PREFIX: &str = "realtime:";

/// A joined channel.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) join_ref: Option<Ref>,
    pub(crate) room: Arc<Room>,
    pub(crate) member: Arc<Member>,
    pub(crate) identity: Identity,
    /// Whether broadcasts are answered.
    pub(crate) acks: bool,
    pub(crate) presence_key: Arc<str>,
    /// Whether presence was wanted, by the join or by tracking.
    pub(crate) has_presence: bool,
    pub(crate) presence_calls: PresenceCalls,
    pub(crate) writing: Writing,
    /// The row changes that were asked for.
    pub(crate) changes: Arc<[Entry]>,
    /// While there are any.
    pub(crate) subscribing: Option<Subscribing>,
}

/// What may be said; nothing where that was not asked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writing {
    pub(crate) broadcast: Option<bool>,
    pub(crate) presence: Option<bool>,
}

impl Writing {
    /// Everything, as on public channels.
    pub(crate) const ALL: Self = Self {
        broadcast: Some(true),
        presence: Some(true),
    };
    /// To be asked first.
    pub(crate) const UNKNOWN: Self = Self {
        broadcast: None,
        presence: None,
    };
}

impl Channel {
    pub(crate) fn topic(&self) -> &str {
        &self.room.topic
    }

    pub(crate) fn sub_topic(&self) -> &str {
        sub_topic(self.topic())
    }

    /// Asks for the row changes with the claims that it has now. What it heard with others it hears
    /// until then.
    pub(crate) fn subscribe(&mut self, hub: &Arc<Hub>, db: &ProjectDb) {
        if self.changes.is_empty() {
            return;
        }
        let caller = self.identity.caller.clone();
        let subscriber = Subscriber::new(self.room.topic.clone(), self.member.clone(), caller);
        let before = self.subscribing.take();
        self.subscribing = Some(Subscribing::start(
            hub,
            db,
            subscriber,
            self.join_ref.clone(),
            self.changes.clone(),
            before,
        ));
    }

    /// Whoever is on it, with the given claims, as policies are asked.
    pub(crate) fn asker(&self, identity: &Identity, headers: &Arc<str>) -> Asker {
        Asker {
            caller: identity.caller.clone(),
            sub_topic: self.sub_topic().into(),
            headers: headers.clone(),
        }
    }
}

/// A topic without what all topics begin with.
pub(crate) fn sub_topic(topic: &str) -> &str {
    topic.strip_prefix(TOPIC_PREFIX).unwrap_or(topic)
}
