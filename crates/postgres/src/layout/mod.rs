//! The layout on disk: the state folder, its lock, the data folder, the socket folder.
//!
//! Everything here is about paths, owners, permissions and free space; the contents of the data
//! folder belong to `initialise` and to PostgreSQL.

mod cluster_dir;
mod data_dir;
mod disk;
mod lock;
mod socket_dir;

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use aws_lc_rs::digest;

pub(crate) use cluster_dir::ClusterDir;
pub use cluster_dir::remove as remove_cluster;
pub(crate) use data_dir::{DataDir, owning_account};
pub(crate) use disk::{ensure_free, ensure_writable};
pub use lock::InstanceLock;
pub(crate) use socket_dir::{PORT, SocketDir};

use crate::account::Account;
use crate::error::{Error, Result};

/// Makes a private folder, with those above it, or makes an existing one private.
pub(crate) fn create_private(folder: &Path) -> Result<()> {
    let made = fs::create_dir_all(folder)
        .and_then(|()| open_nofollow(folder)?.set_permissions(Permissions::from_mode(0o700)));
    made.map_err(|cause| Error::file("create", folder, &cause))
}

/// Gives a file or folder to the user that runs Postgres.
pub(crate) fn chown_to(account: Option<&Account>, path: &Path) -> Result<()> {
    let Some(account) = account else {
        return Ok(());
    };
    open_nofollow(path)
        .and_then(|file| fchown(&file, Some(account.uid), Some(account.gid)))
        .map_err(|cause| Error::file("change the owner of", path, &cause))
}

/// Lets the user that runs Postgres traverse a folder of root's without listing it.
fn allow_traversal(folder: &Path, account: Option<&Account>) -> Result<()> {
    let Some(account) = account else {
        return Ok(());
    };
    if account.can_enter(folder) {
        return Ok(());
    }
    open_nofollow(folder)
        .and_then(|folder| {
            fchown(&folder, None, Some(account.gid))?;
            folder.set_permissions(Permissions::from_mode(0o710))
        })
        .map_err(|cause| Error::file("open", folder, &cause))
}

/// A stable hash of the path, short enough for a file name.
fn short_hash(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let hash = digest::digest(&digest::SHA256, bytes);
    let short = hash.as_ref().iter().take(8);
    short.map(|byte| format!("{byte:02x}")).collect()
}

/// Opens a file or folder without following a symlink: a planted link must not make root change a
/// system file.
pub(crate) fn open_nofollow(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    File::options().read(true).custom_flags(flags).open(path)
}

/// Makes a rename or a new entry in this folder survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::create_dir(&target).unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o755)).unwrap();
        symlink(&target, &link).unwrap();

        assert!(create_private(&link).is_err());

        assert_eq!(
            target.metadata().unwrap().permissions().mode() & 0o777,
            0o755
        );
    }
}
