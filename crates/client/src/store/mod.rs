//! Storage of sessions and PKCE verifiers (client contract S7–S10).
//!
//! A store holds opaque texts by key. Keys are `<key>` for the session, `<key>-user` for a user stored apart, and
//! `<key>-…-code-verifier` for pending sign-ins.

#[cfg(not(target_arch = "wasm32"))]
mod blocking;
#[cfg(not(target_arch = "wasm32"))]
mod file;
#[cfg(all(
    feature = "keyring",
    any(target_os = "linux", target_os = "macos", target_os = "windows")
))]
mod keyring;
mod memory;

use std::sync::Arc;

use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};
#[cfg(not(target_arch = "wasm32"))]
pub use file::FileStore;
#[cfg(all(
    feature = "keyring",
    any(target_os = "linux", target_os = "macos", target_os = "windows")
))]
pub use keyring::KeyringStore;
pub use memory::MemoryStore;

/// Stores texts by key. Implement it to store sessions elsewhere.
pub trait SessionStore: MaybeSend + MaybeSync + 'static {
    /// The text under this key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Stores a text, replacing an earlier one.
    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes a key. A missing key is no error.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}

impl<S: SessionStore + ?Sized> SessionStore for Arc<S> {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        (**self).get(key)
    }

    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).set(key, text)
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).remove(key)
    }
}

/// A failed store. Clones share the cause.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session store failed: {0}")]
pub struct StoreError(Arc<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// Wraps a cause, which must not contain the stored text.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Arc::from(cause.into()))
    }
}
