//! A store in the system's keyring, for command-line tools and desktop programs.

mod entries;
mod head;
mod texts;

use self::texts::Texts;
use super::blocking::blocking;
use super::{SessionStore, StoreError};
use crate::runtime::BoxFuture;

/// Stores texts in the user's keyring: the kernel's on Linux, the login keychain on macOS, the Credential Manager
/// on Windows. Needs the feature `keyring`.
///
/// Nothing is written to a disk in clear text. On Linux neither D-Bus nor a desktop is needed, so it also works
/// over SSH; but the kernel's keyring is lost on reboot and three days after the last use, and is limited to
/// 20,000 bytes per user (`keyrings(7)`). In containers it is often disabled: then every call fails, and
/// [`FileStore`](super::FileStore) is the better choice.
///
/// Several processes may share it. Long texts are split into several entries, but still replaced atomically: an
/// interrupted write leaves the old text.
#[derive(Clone, Debug)]
pub struct KeyringStore {
    texts: Texts,
}

impl KeyringStore {
    /// Stores entries of this application, for example `com.example.my-tool`. The name is shown by the system's
    /// keyring application.
    pub fn new(service: impl Into<String>) -> Self {
        Self {
            texts: Texts::of(service.into()),
        }
    }
}

/// The message only: some of these errors hold the stored bytes.
fn without_bytes(error: &keyring_core::Error) -> String {
    format!("the system's keyring: {error}")
}

impl SessionStore for KeyringStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let (texts, key) = (self.texts.clone(), key.to_owned());
        Box::pin(blocking(move || {
            texts.read(&key).map_err(|error| without_bytes(&error))
        }))
    }

    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        let (texts, key) = (self.texts.clone(), key.to_owned());
        Box::pin(blocking(move || {
            let written = texts.write(&key, text.as_bytes());
            written.map_err(|error| without_bytes(&error))
        }))
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let (texts, key) = (self.texts.clone(), key.to_owned());
        Box::pin(blocking(move || {
            texts.remove(&key).map_err(|error| without_bytes(&error))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::texts::tests::Scratch;
    use super::*;

    #[tokio::test]
    async fn texts_come_back_until_they_are_removed() {
        let Some(scratch) = Scratch::new("store") else {
            return;
        };
        let store = KeyringStore::new(scratch.0.clone());

        assert_eq!(store.get("k").await.unwrap(), None);
        store.set("k", "one".to_owned()).await.unwrap();
        store.set("k", "two".to_owned()).await.unwrap();

        let next_run = KeyringStore::new(scratch.0.clone());
        assert_eq!(next_run.get("k").await.unwrap().as_deref(), Some("two"));
        assert_eq!(store.get("k-user").await.unwrap(), None);

        store.remove("k").await.unwrap();
        store.remove("k").await.unwrap();
        assert_eq!(next_run.get("k").await.unwrap(), None);
    }

    #[tokio::test]
    async fn programs_do_not_see_each_other() {
        let (Some(mine), Some(other)) = (Scratch::new("mine"), Scratch::new("other")) else {
            return;
        };
        let store = KeyringStore::new(mine.0.clone());

        store.set("k", "secret".to_owned()).await.unwrap();

        let other = KeyringStore::new(other.0.clone());
        assert_eq!(other.get("k").await.unwrap(), None);
    }

    #[test]
    fn neither_stores_nor_their_errors_show_texts() {
        let error = keyring_core::Error::BadEncoding(b"secret".to_vec());
        let said = StoreError::new(without_bytes(&error));
        assert_eq!(
            said.to_string(),
            "the session store failed: the system's keyring: Password data is not valid UTF-8"
        );
        assert!(!format!("{said:?}").contains("115, 101"), "{said:?}");
    }
}
