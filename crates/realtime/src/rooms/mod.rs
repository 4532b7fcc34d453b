//! Who is where: the members of every topic of a project, and what is said to all of them (§14.3).
//!
//! A room is a topic, public or private: two rooms of one name never meet (§10). It exists as long
//! as somebody is in it.

mod member;
mod missed;
mod presence;
mod room;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
};

use tokio::sync::watch;

pub(crate) use member::{ChannelId, Hearing, Member};
pub(crate) use missed::Missed;
pub(crate) use presence::Announced;
pub(crate) use room::{Entrance, Room, Told};

use crate::numbers::Numbers;

/// Joins and leaves of different topics do not wait for each other.
const SHARDS: usize = 16;

/// All rooms of a project.
#[derive(Debug)]
pub(crate) struct Rooms {
    numbers: Arc<Numbers>,
    hasher: RandomState,
    /// How many channels are joined.
    population: watch::Sender<usize>,
    shards: [RwLock<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    public: HashMap<Arc<str>, Arc<Room>>,
    private: HashMap<Arc<str>, Arc<Room>>,
}

impl Shard {
    fn rooms(&mut self, is_private: bool) -> &mut HashMap<Arc<str>, Arc<Room>> {
        match is_private {
            true => &mut self.private,
            false => &mut self.public,
        }
    }

    fn room(&mut self, topic: &str, is_private: bool, numbers: &Arc<Numbers>) -> Arc<Room> {
        let rooms = self.rooms(is_private);
        match rooms.get(topic) {
            Some(room) => room.clone(),
            None => {
                let room = Arc::new(Room::new(topic, is_private, numbers));
                rooms.insert(room.topic.clone(), room.clone());
                room
            }
        }
    }

    fn remove_if_empty(&mut self, room: &Arc<Room>) {
        let rooms = self.rooms(room.is_private);
        let is_known = rooms
            .get(&room.topic)
            .is_some_and(|known| Arc::ptr_eq(known, room));
        if is_known && room.is_empty() {
            rooms.remove(&room.topic);
        }
    }
}

impl Rooms {
    /// None yet; what happens in them is told to `numbers`.
    pub(crate) fn counted_by(numbers: &Arc<Numbers>) -> Self {
        Self {
            numbers: numbers.clone(),
            hasher: RandomState::default(),
            population: watch::Sender::default(),
            shards: Default::default(),
        }
    }

    /// How many channels are joined.
    pub(crate) fn population(&self) -> usize {
        *self.population.borrow()
    }

    pub(crate) fn watch_population(&self) -> watch::Receiver<usize> {
        self.population.subscribe()
    }

    /// The room of that name, if anybody is there.
    pub(crate) fn find(&self, topic: &str, is_private: bool) -> Option<Arc<Room>> {
        let shard = self.shard(topic).read();
        let shard = shard.unwrap_or_else(PoisonError::into_inner);
        let rooms = match is_private {
            true => &shard.private,
            false => &shard.public,
        };
        rooms.get(topic).cloned()
    }

    /// Keeps a room for somebody who is about to come, who must give it back.
    pub(crate) fn reserve(&self, topic: &str, is_private: bool) -> Arc<Room> {
        let mut shard = self.write(topic);
        let room = shard.room(topic, is_private, &self.numbers);
        room.reserve();
        room
    }

    pub(crate) fn give_back(&self, room: &Arc<Room>) {
        let mut shard = self.write(&room.topic);
        room.give_back();
        shard.remove_if_empty(room);
    }

    /// Looks at every room.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&Arc<Room>)) {
        for shard in &self.shards {
            let rooms: Vec<Arc<Room>> = {
                let shard = shard.read().unwrap_or_else(PoisonError::into_inner);
                shard
                    .public
                    .values()
                    .chain(shard.private.values())
                    .cloned()
                    .collect()
            };
            rooms.iter().for_each(&mut look);
        }
    }

    /// Lets somebody in. The answer to their join stands before everything that the room says.
    pub(crate) fn enter(
        &self,
        topic: &str,
        is_private: bool,
        member: Arc<Member>,
        entrance: Entrance<'_>,
    ) -> Arc<Room> {
        let mut shard = self.write(topic);
        let room = shard.room(topic, is_private, &self.numbers);
        room.enter(member, entrance);
        self.population.send_modify(|count| *count += 1);
        room
    }

    /// Somebody goes, and their presence with them. Gives the presence messages that it made.
    pub(crate) fn leave(&self, room: &Arc<Room>, id: ChannelId) -> usize {
        let mut shard = self.write(&room.topic);
        let told = room.leave(id);
        self.population
            .send_modify(|count| *count = count.saturating_sub(1));
        shard.remove_if_empty(room);
        told
    }

    fn write(&self, topic: &str) -> RwLockWriteGuard<'_, Shard> {
        let shard = self.shard(topic).write();
        shard.unwrap_or_else(PoisonError::into_inner)
    }

    fn shard(&self, topic: &str) -> &RwLock<Shard> {
        let place = self.hasher.hash_one(topic) % SHARDS as u64;
        &self.shards[place as usize]
    }
}
