//! The topics of a project: their members, fan-out to them, and presence (§14.3).
//!
//! A public and a private topic of one name are two topics (§10). A topic exists as long as it has a
//! member or one is about to join. Other nodes are reached through [`RemoteTopic`], which `cluster`
//! implements; this module knows no broker.

mod join_buffer;
mod member;
mod presence;
mod remote;
mod topic;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
};

use tokio::sync::watch;

pub(crate) use join_buffer::JoinBuffer;
pub(crate) use member::{ChannelId, Member, ReadPermissions};
pub(crate) use presence::PresenceEntry;
pub(crate) use remote::{NodeId, PresenceChange, RemoteTopic, TopicMessage};
pub(crate) use topic::{Deliveries, InitialFrames, Topic};

use crate::metrics::RealtimeMetrics;

/// Joins and leaves of topics in different shards do not contend for a lock.
const SHARDS: usize = 16;

/// All topics of a project.
#[derive(Debug)]
pub(crate) struct Topics {
    metrics: Arc<RealtimeMetrics>,
    hasher: RandomState,
    /// How many channels are joined.
    channels: watch::Sender<usize>,
    shards: [RwLock<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    public: HashMap<Arc<str>, Arc<Topic>>,
    private: HashMap<Arc<str>, Arc<Topic>>,
}

impl Shard {
    fn topics(&mut self, is_private: bool) -> &mut HashMap<Arc<str>, Arc<Topic>> {
        if is_private {
            &mut self.private
        } else {
            &mut self.public
        }
    }

    fn find_or_create(
        &mut self,
        name: &str,
        is_private: bool,
        metrics: &Arc<RealtimeMetrics>,
    ) -> Arc<Topic> {
        let topics = self.topics(is_private);
        match topics.get(name) {
            Some(topic) => topic.clone(),
            None => {
                let topic = Arc::new(Topic::new(name, is_private, metrics));
                topics.insert(topic.name.clone(), topic.clone());
                topic
            }
        }
    }

    fn remove_if_empty(&mut self, topic: &Arc<Topic>) {
        let topics = self.topics(topic.is_private);
        let is_current = topics
            .get(&topic.name)
            .is_some_and(|known| Arc::ptr_eq(known, topic));
        if is_current && topic.is_empty() {
            topics.remove(&topic.name);
        }
    }
}

impl Topics {
    pub(crate) fn new(metrics: &Arc<RealtimeMetrics>) -> Self {
        Self {
            metrics: metrics.clone(),
            hasher: RandomState::default(),
            channels: watch::Sender::default(),
            shards: Default::default(),
        }
    }

    /// How many channels are joined.
    pub(crate) fn channel_count(&self) -> usize {
        *self.channels.borrow()
    }

    pub(crate) fn watch_channel_count(&self) -> watch::Receiver<usize> {
        self.channels.subscribe()
    }

    /// The topic of that name, if it exists on this node.
    pub(crate) fn find(&self, name: &str, is_private: bool) -> Option<Arc<Topic>> {
        let shard = self.shard(name).read();
        let shard = shard.unwrap_or_else(PoisonError::into_inner);
        let topics = if is_private {
            &shard.private
        } else {
            &shard.public
        };
        topics.get(name).cloned()
    }

    /// Keeps a topic alive for a channel that is about to join; to be released.
    pub(crate) fn reserve(&self, name: &str, is_private: bool) -> Arc<Topic> {
        let mut shard = self.write(name);
        let topic = shard.find_or_create(name, is_private, &self.metrics);
        topic.reserve();
        topic
    }

    pub(crate) fn release(&self, topic: &Arc<Topic>) {
        let mut shard = self.write(&topic.name);
        topic.release();
        shard.remove_if_empty(topic);
    }

    /// Calls `visit` with every topic, without holding a lock.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Arc<Topic>)) {
        for shard in &self.shards {
            let topics: Vec<Arc<Topic>> = {
                let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
                shard
                    .public
                    .values()
                    .chain(shard.private.values())
                    .cloned()
                    .collect()
            };
            topics.iter().for_each(&mut visit);
        }
    }

    /// Adds a member. The reply to its join is queued before anything else of the topic.
    pub(crate) fn join(
        &self,
        name: &str,
        is_private: bool,
        member: Arc<Member>,
        frames: InitialFrames<'_>,
    ) -> Arc<Topic> {
        let mut shard = self.write(name);
        let topic = shard.find_or_create(name, is_private, &self.metrics);
        topic.add_member(member, frames);
        self.channels.send_modify(|count| *count += 1);
        topic
    }

    /// Removes a member and its presence. Returns how many presence messages that caused.
    pub(crate) fn leave(&self, topic: &Arc<Topic>, id: ChannelId) -> usize {
        let mut shard = self.write(&topic.name);
        let delivered = topic.remove_member(id);
        self.channels
            .send_modify(|count| *count = count.saturating_sub(1));
        shard.remove_if_empty(topic);
        delivered
    }

    fn write(&self, name: &str) -> RwLockWriteGuard<'_, Shard> {
        let shard = self.shard(name).write();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    fn shard(&self, name: &str) -> &RwLock<Shard> {
        let index = self.hasher.hash_one(name) % SHARDS as u64;
        &self.shards[index as usize]
    }
}
