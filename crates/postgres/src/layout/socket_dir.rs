//! The private folder of the unix socket.
//!
//! `sun_path` is limited to about a hundred bytes, less than many project paths, so a folder with a
//! short name below the temporary folder is used where the state folder's path is too long.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{chown_to, create_private, short_hash};
use crate::account::Account;
use crate::error::{Error, Result};

/// The port is only a part of the socket's name: nothing listens on TCP.
pub(crate) const PORT: u16 = 5432;

/// `sun_path` holds 108 bytes on Linux and 104 on macOS, with a NUL at the end.
const MAX_SOCKET_PATH_BYTES: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// A folder that only the user who runs Postgres can enter, and root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketDir {
    pub(crate) path: PathBuf,
}

impl SocketDir {
    /// Creates `<cluster_dir>/run`, or a folder with a short path instead.
    pub(crate) fn prepare(cluster_dir: &Path, account: Option<&Account>) -> Result<Self> {
        let run = cluster_dir.join("run");
        if fits(&run) {
            create_private(&run)?;
            chown_to(account, &run)?;
            return Ok(Self { path: run });
        }
        let temporary = std::env::temp_dir();
        let choices = [temporary.as_path(), Path::new("/tmp")];
        let is_usable = |parent: &&&Path| {
            fits(&short_path(cluster_dir, parent))
                && account.is_none_or(|user| user.can_enter(parent))
        };
        let parent = choices.iter().find(is_usable);
        let parent = parent.ok_or_else(|| Error::SocketPathTooLong {
            path: socket_in(&run),
        })?;
        let path = short_path(cluster_dir, parent);
        claim_dir(&path, account)?;
        Ok(Self { path })
    }
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join(format!(".s.PGSQL.{PORT}"))
}

fn fits(folder: &Path) -> bool {
    socket_in(folder).as_os_str().len() <= MAX_SOCKET_PATH_BYTES
}

fn short_path(cluster_dir: &Path, parent: &Path) -> PathBuf {
    let hash = short_hash(cluster_dir);
    parent.join(format!("plinth-{hash}"))
}

/// Creates a folder inside a world-writable one, or takes it over if it is ours and private.
fn claim_dir(path: &Path, account: Option<&Account>) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return chown_to(account, path),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
        Err(cause) => return Err(Error::file("create", path, &cause)),
    }
    // Not followed: a link created here by another user must not lead elsewhere.
    let meta = fs::symlink_metadata(path).map_err(|cause| Error::file("find", path, &cause))?;
    let expected = account.map_or_else(
        || rustix::process::geteuid().as_raw(),
        |account| account.uid,
    );
    if meta.uid() != expected {
        return Err(Error::ForeignOwner {
            path: path.to_owned(),
            owner: meta.uid(),
            expected,
        });
    }
    if !meta.is_dir() || meta.mode() & 0o077 != 0 {
        let reason = "it is there already and not private; remove it".to_owned();
        return Err(Error::File {
            action: "use",
            path: path.to_owned(),
            reason,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_short_path_keeps_the_socket_in_the_home_folder() {
        let cluster_dir = tempfile::tempdir().unwrap();

        let socket_dir = SocketDir::prepare(cluster_dir.path(), None).unwrap();

        assert_eq!(socket_dir.path, cluster_dir.path().join("run"));
        assert_eq!(socket_dir.path.metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_long_path_gets_a_short_private_stand_in_each_time_the_same() {
        let base = tempfile::tempdir().unwrap();
        let cluster_dir = base.path().join("deep".repeat(30));
        fs::create_dir(&cluster_dir).unwrap();

        let first = SocketDir::prepare(&cluster_dir, None).unwrap();
        let second = SocketDir::prepare(&cluster_dir, None).unwrap();

        assert_eq!(first, second);
        assert!(fits(&first.path));
        assert_eq!(first.path.metadata().unwrap().mode() & 0o777, 0o700);
        fs::remove_dir(first.path).unwrap();
    }

    #[test]
    fn a_folder_that_is_open_to_others_or_a_link_is_rejected() {
        let base = tempfile::tempdir().unwrap();
        let (open, link) = (base.path().join("open"), base.path().join("link"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        symlink(&open, &link).unwrap();

        assert!(claim_dir(&open, None).is_err());
        assert!(claim_dir(&link, None).is_err());
    }

    #[test]
    fn a_folder_of_another_account_is_rejected() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("theirs");
        fs::create_dir(&folder).unwrap();
        let other = Account {
            name: "other".to_owned(),
            uid: 4_000_001,
            gid: 4_000_001,
        };

        let error = claim_dir(&folder, Some(&other)).unwrap_err();

        assert!(matches!(error, Error::ForeignOwner { .. }), "{error}");
    }
}
