//! A worker's own directory, with its socket and its temporary files.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use crate::account::Account;

/// Removed when it is dropped.
pub(super) struct WorkerFolder(PathBuf);

impl WorkerFolder {
    pub(super) fn create(run_dir: &Path, id: &str, account: Option<Account>) -> io::Result<Self> {
        // Short, because the path of a unix socket is limited.
        let name: String = id
            .chars()
            .filter(char::is_ascii_hexdigit)
            .take(12)
            .collect();
        let folder = Self(run_dir.join(name));
        let mut private = fs::DirBuilder::new();
        private.mode(0o700);
        private.create(&folder.0)?;
        private.create(folder.0.join("tmp"))?;
        if let Some(account) = account {
            account.take_ownership(&folder.0)?;
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.0.join("s.sock")
    }
}

impl Drop for WorkerFolder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
