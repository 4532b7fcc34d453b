//! Bounded LRU cache of a connection's prepared statements.
//!
//! Statement texts follow request shapes, whose number clients decide: an unbounded cache would grow
//! without limit.

use std::{
    hash::{BuildHasher, Hasher},
    num::NonZeroUsize,
    sync::Arc,
};

use foldhash::fast::RandomState;
use lru::LruCache;
use postgres_types::Type;

use crate::row::Column;

/// Prepared statements cached per connection.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// A statement prepared by name.
pub(crate) struct Prepared {
    pub(super) name: Box<str>,
    pub(super) parameters: Box<[Type]>,
    pub(super) columns: Arc<[Column]>,
}

/// Result of a cache lookup.
pub(crate) enum CacheLookup {
    New,
    /// It ran once, unprepared.
    SeenOnce,
    Prepared(Arc<Prepared>),
}

pub(super) struct Statements {
    cache: LruCache<u64, Entry>,
    /// Faster over long texts than the standard one. It is seeded, and texts are compared.
    hasher: RandomState,
    names: u64,
    /// Evicted names, to be closed with the next request.
    pub(super) dropped: Vec<Box<str>>,
}

struct Entry {
    role: Box<str>,
    sql: Box<str>,
    /// `None` if the statement has only been seen once.
    prepared: Option<Arc<Prepared>>,
}

impl Statements {
    pub(super) fn new() -> Self {
        Self {
            cache: LruCache::new(CAPACITY),
            hasher: RandomState::default(),
            names: 0,
            dropped: Vec::new(),
        }
    }

    /// Looks up the statement for this role.
    pub(super) fn lookup(&mut self, role: &str, sql: &str) -> CacheLookup {
        let key = self.key(role, sql);
        // On a hash collision the second text replaces the first.
        match self.cache.get(&key) {
            Some(entry) if *entry.sql == *sql && *entry.role == *role => match &entry.prepared {
                Some(prepared) => CacheLookup::Prepared(prepared.clone()),
                None => CacheLookup::SeenOnce,
            },
            _ => CacheLookup::New,
        }
    }

    /// Caches a statement that ran, and its prepared form if it has one.
    pub(super) fn keep(&mut self, role: &str, sql: &str, prepared: Option<Arc<Prepared>>) {
        let key = self.key(role, sql);
        let entry = Entry {
            role: role.into(),
            sql: sql.into(),
            prepared,
        };
        // Either the previous entry of the same key, or the least recently used one.
        let replaced = self.cache.push(key, entry);
        self.drop_name(replaced.and_then(|(_, entry)| entry.prepared));
    }

    pub(super) fn discard_all(&mut self) {
        while let Some((_, entry)) = self.cache.pop_lru() {
            self.drop_name(entry.prepared);
        }
    }

    fn drop_name(&mut self, prepared: Option<Arc<Prepared>>) {
        self.dropped
            .extend(prepared.map(|prepared| prepared.name.clone()));
    }

    pub(super) fn new_name(&mut self) -> Box<str> {
        self.names += 1;
        format!("s{}", self.names).into()
    }

    fn key(&self, role: &str, sql: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(role.as_bytes());
        hasher.write_u8(0);
        hasher.write(sql.as_bytes());
        hasher.finish()
    }
}
