//! A store in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{SessionStore, StoreError};
use crate::runtime::BoxFuture;

/// Stores everything in memory: the default, for servers and tests. Clones share the store.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<HashMap<String, String>>>);

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The keys that hold something, sorted.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.texts().keys().cloned().collect();
        keys.sort();
        keys
    }

    fn texts(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for MemoryStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move { Ok(self.texts().get(key).cloned()) })
    }

    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.texts().insert(key.to_owned(), text);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.texts().remove(key);
            Ok(())
        })
    }
}

/// Keys only, never texts.
impl fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("MemoryStore")
            .field(&self.keys())
            .finish()
    }
}
