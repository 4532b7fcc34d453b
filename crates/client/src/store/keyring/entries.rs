//! The system's keyring: bytes by name.

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store;
use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error, Result};
#[cfg(target_os = "linux")]
use linux_keyutils_keyring_store::Store;
#[cfg(target_os = "windows")]
use windows_native_keyring_store::Store;

/// Retries are for a race on Linux; elsewhere another attempt would show another dialog.
const MAX_ATTEMPTS: usize = if cfg!(target_os = "linux") { 5 } else { 1 };

/// Entries of one application in the keyring.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    service: String,
}

impl Entries {
    pub(super) fn of(service: String) -> Self {
        Self { service }
    }

    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        found(self.with_entry(name, Entry::get_secret))
    }

    /// Replaces an entry atomically.
    ///
    /// Reading first matters on Linux: every login has its own session keyring, and only a key that was found is
    /// updated in place, for all of them. A second key of the same name would leave the other logins with the
    /// first one.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.read(name)?;
        self.with_entry(name, |entry| entry.set_secret(bytes))
    }

    /// A missing entry is no error.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        found(self.with_entry(name, Entry::delete_credential)).map(drop)
    }

    /// On Linux, access fails for a key that is removed between lookup and use. A retry distinguishes that from
    /// missing permission.
    fn with_entry<T>(&self, name: &str, work: impl Fn(&Entry) -> Result<T>) -> Result<T> {
        let entry = Store::new()?.build(&self.service, name, None)?;
        let mut looks = 1;
        loop {
            match work(&entry) {
                Err(Error::NoStorageAccess(_)) if looks < MAX_ATTEMPTS => looks += 1,
                response => return response,
            }
        }
    }
}

fn found<T>(response: Result<T>) -> Result<Option<T>> {
    match response {
        Err(Error::NoEntry) => Ok(None),
        response => response.map(Some),
    }
}
