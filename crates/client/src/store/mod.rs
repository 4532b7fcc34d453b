//! Where sessions and sign-in secrets are kept between calls (client contract S7–S10).
//!
//! A store holds texts by key and knows nothing of their meaning. Keys are `<key>` for the
//! session, `<key>-user` for a user stored apart, and `<key>-…-code-verifier` for sign-ins under
//! way.

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

/// Keeps texts by key. Implement it to keep sessions in a place of your own.
pub trait SessionStore: MaybeSend + MaybeSync + 'static {
    /// The text under this key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Keeps a text, replacing what was there.
    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Forgets a key. One that is not there is no error.
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

/// A store could not do its work. Clones share the cause.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session store failed: {0}")]
pub struct StoreError(Arc<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// Wraps what went wrong. The cause must not quote the stored text.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Arc::from(cause.into()))
    }
}
