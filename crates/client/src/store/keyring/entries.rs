//! The system's keyring: bytes by name.

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store;
use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error, Result};
#[cfg(target_os = "linux")]
use linux_keyutils_keyring_store::Store;
#[cfg(target_os = "windows")]
use windows_native_keyring_store::Store;

/// Elsewhere a refusal is one, and asking again would show people another dialog.
const LOOKS: usize = if cfg!(target_os = "linux") { 5 } else { 1 };

/// What one program keeps in the keyring.
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

    /// Replaces an entry in one step.
    ///
    /// Reading first matters on Linux: every login has a session keyring of its own, and only a key
    /// that was found is changed in place, for all of them. A second key of the same name would leave
    /// the other logins with the first one.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.read(name)?;
        self.with_entry(name, |entry| entry.set_secret(bytes))
    }

    /// An entry that is not there is no error.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        found(self.with_entry(name, Entry::delete_credential)).map(drop)
    }

    /// On Linux nobody may touch a key that is removed between being found and being used. Another
    /// look tells that from a key that is really kept from us.
    fn with_entry<T>(&self, name: &str, work: impl Fn(&Entry) -> Result<T>) -> Result<T> {
        let entry = Store::new()?.build(&self.service, name, None)?;
        let mut looks = 1;
        loop {
            match work(&entry) {
                Err(Error::NoStorageAccess(_)) if looks < LOOKS => looks += 1,
                answer => return answer,
            }
        }
    }
}

fn found<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Err(Error::NoEntry) => Ok(None),
        answer => answer.map(Some),
    }
}
