//! What a connection has prepared, bounded.
//!
//! Statement texts follow request shapes, whose number clients decide: an unbounded memory would
//! grow without end.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    num::NonZeroUsize,
    sync::Arc,
};

use lru::LruCache;
use postgres_types::Type;

use crate::row::Column;

/// Prepared statements kept per connection; the least recently used one goes first.
const KEPT: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// A statement that the server knows by name.
pub(crate) struct Prepared {
    pub(super) name: Box<str>,
    pub(super) parameters: Box<[Type]>,
    pub(super) columns: Arc<[Column]>,
}

/// What a connection knows of a statement.
pub(crate) enum Familiarity {
    New,
    /// It ran once, unprepared.
    SeenOnce,
    Prepared(Arc<Prepared>),
}

pub(super) struct Statements {
    cache: LruCache<u64, Known>,
    hasher: RandomState,
    names: u64,
    /// Names that the server may forget; it is told with the next request.
    pub(super) dropped: Vec<Box<str>>,
}

struct Known {
    role: Box<str>,
    sql: Box<str>,
    /// `None` while the statement has only been seen.
    prepared: Option<Arc<Prepared>>,
}

impl Statements {
    pub(super) fn new() -> Self {
        Self {
            cache: LruCache::new(KEPT),
            hasher: RandomState::new(),
            names: 0,
            dropped: Vec::new(),
        }
    }

    /// What is known of the statement, as this role.
    pub(super) fn recall(&mut self, role: &str, sql: &str) -> Familiarity {
        let key = self.key(role, sql);
        // Two texts may share a hash; the second then simply takes the first one's place.
        match self.cache.get(&key) {
            Some(known) if *known.sql == *sql && *known.role == *role => match &known.prepared {
                Some(prepared) => Familiarity::Prepared(prepared.clone()),
                None => Familiarity::SeenOnce,
            },
            _ => Familiarity::New,
        }
    }

    /// Notes that a statement ran, and what it was prepared as.
    pub(super) fn keep(&mut self, role: &str, sql: &str, prepared: Option<Arc<Prepared>>) {
        let key = self.key(role, sql);
        let known = Known {
            role: role.into(),
            sql: sql.into(),
            prepared,
        };
        // Either what stood at the same key, or what was used least recently.
        let replaced = self.cache.push(key, known);
        self.drop_name(replaced.and_then(|(_, known)| known.prepared));
    }

    pub(super) fn forget_all(&mut self) {
        while let Some((_, known)) = self.cache.pop_lru() {
            self.drop_name(known.prepared);
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
