//! A channel: one topic that one socket has joined (§5 to §8).

mod channel_error;
mod join;
mod join_error;
mod join_payload;
mod presence_window;

use std::sync::Arc;

use plinth_project::ProjectDb;

pub(crate) use channel_error::ChannelError;
pub(crate) use join::{PendingJoin, PreparedJoin};
pub(crate) use join_error::JoinError;
pub(crate) use join_payload::JoinPayload;
pub(crate) use presence_window::PresenceWindow;

use crate::{
    authorize::AccessCheck,
    hub::Hub,
    identity::Identity,
    protocol::{Ref, sub_topic},
    subscriptions::{Entry, SubscribeTask, Subscriber, Subscribing},
    topics::{Member, Topic},
};

/// A joined channel.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) join_ref: Option<Ref>,
    pub(crate) topic: Arc<Topic>,
    pub(crate) member: Arc<Member>,
    pub(crate) identity: Identity,
    /// Whether broadcasts are acknowledged.
    pub(crate) acks: bool,
    pub(crate) presence_key: Arc<str>,
    /// Whether the client uses presence, since its join or since it tracked.
    pub(crate) has_presence: bool,
    pub(crate) presence_window: PresenceWindow,
    pub(crate) write_permissions: WritePermissions,
    /// The `postgres_changes` entries of the join.
    pub(crate) changes: Arc<[Entry]>,
    /// The task behind them; `None` without entries.
    pub(crate) subscribing: Option<Subscribing>,
}

/// What the channel may send; `None` where that was not checked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WritePermissions {
    pub(crate) broadcast: Option<bool>,
    pub(crate) presence: Option<bool>,
}

impl WritePermissions {
    /// Everything, as on public channels.
    pub(crate) const ALL: Self = Self {
        broadcast: Some(true),
        presence: Some(true),
    };
    /// To be checked before the first message.
    pub(crate) const UNKNOWN: Self = Self {
        broadcast: None,
        presence: None,
    };
}

impl Channel {
    pub(crate) fn sub_topic(&self) -> &str {
        sub_topic(&self.topic.name)
    }

    /// Subscribes to the row changes with the channel's current claims. A subscription with former
    /// claims stays until the new one is registered.
    pub(crate) fn subscribe(&mut self, hub: &Hub, db: &ProjectDb) {
        if self.changes.is_empty() {
            return;
        }
        let caller = self.identity.caller.clone();
        let subscriber = Subscriber::new(self.topic.name.clone(), self.member.clone(), caller);
        let task = SubscribeTask {
            subscriptions: hub.subscriptions.clone(),
            stream_status: hub.stream.watch_status(),
            usage: hub.usage.clone(),
            db: db.clone(),
            subscriber: Arc::new(subscriber),
            join_ref: self.join_ref.clone(),
            entries: self.changes.clone(),
        };
        let before = self.subscribing.take();
        self.subscribing = Some(Subscribing::start(task, before));
    }

    /// A check of what the topic's policies permit with the given claims.
    pub(crate) fn access_check(&self, identity: &Identity, headers: &Arc<str>) -> AccessCheck {
        AccessCheck {
            caller: identity.caller.clone(),
            sub_topic: self.sub_topic().into(),
            headers: headers.clone(),
        }
    }
}
