//! Which folder holds the database cluster: the state folder, unless the user that runs Postgres
//! cannot enter it. Then it is a folder below the system folder, and the file `data-location` in
//! the state folder holds its path.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{allow_traversal, create_private, short_hash};
use crate::account::Account;
use crate::error::{Error, Result};

const POINTER: &str = "data-location";

/// The parent of the data folder and, where its path is short enough, of the socket folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterDir {
    pub(crate) path: PathBuf,
    /// The `data-location` file, when the cluster lies outside of the state folder.
    pointer: Option<PathBuf>,
}

impl ClusterDir {
    /// Chooses and creates the folder. The choice of an earlier start is kept.
    pub(crate) fn prepare(
        state_dir: &Path,
        account: Option<&Account>,
        system_dir: &Path,
    ) -> Result<Self> {
        let state_dir = state_dir
            .canonicalize()
            .map_err(|cause| Error::file("find", state_dir, &cause))?;
        let pointer = state_dir.join(POINTER);
        if let Some(path) = read_pointer(&pointer)? {
            if !path.join("database").is_dir() {
                return Err(Error::File {
                    action: "find the database named by data-location in",
                    path,
                    reason: format!(
                        "restore it, or delete {} to begin with an empty one",
                        pointer.display()
                    ),
                });
            }
            return Ok(Self {
                path,
                pointer: Some(pointer),
            });
        }

        let parent = state_dir.parent().unwrap_or(&state_dir);
        let is_reachable = account
            .is_none_or(|account| account.can_enter(parent) || account.can_enter(&state_dir));
        if is_reachable || state_dir.join("database/PG_VERSION").exists() {
            allow_traversal(&state_dir, account)?;
            return Ok(Self {
                path: state_dir,
                pointer: None,
            });
        }
        let path = system_dir.join(outside_name(&state_dir));
        create_system_dir(system_dir)?;
        create_private(&path)?;
        allow_traversal(&path, account)?;
        Ok(Self {
            path,
            pointer: Some(pointer),
        })
    }

    /// Writes `data-location` for operators and the next start. Called once the cluster exists, so
    /// that an interrupted first start leaves no dangling pointer.
    pub(crate) fn write_pointer(&self) -> Result<()> {
        let Some(pointer) = &self.pointer else {
            return Ok(());
        };
        fs::write(pointer, format!("{}\n", self.path.display()))
            .map_err(|cause| Error::file("write", pointer, &cause))
    }
}

/// Removes a state folder with its cluster, whose server must not be running; also the part outside of
/// it. Succeeds if there is none.
pub fn remove(state_dir: &Path) -> Result<()> {
    let remove = |path: &Path| match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove", path, &cause))
        }
        _ => Ok(()),
    };
    let state_dir = match state_dir.canonicalize() {
        Ok(state_dir) => state_dir,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(Error::file("find", state_dir, &cause)),
    };
    let path = read_pointer(&state_dir.join(POINTER))?;
    // A pointer written by another user must not lead elsewhere.
    if let Some(path) = path.filter(|path| path.ends_with(outside_name(&state_dir))) {
        remove(&path)?;
    }
    remove(&state_dir)
}

fn read_pointer(pointer: &Path) -> Result<Option<PathBuf>> {
    match fs::read_to_string(pointer) {
        Ok(text) => Ok(Some(PathBuf::from(text.trim_end_matches('\n')))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::file("read", pointer, &cause)),
    }
}

/// Mode 0755: other users traverse it; each folder inside has its own permissions.
fn create_system_dir(system_dir: &Path) -> Result<()> {
    if system_dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(system_dir)
        .and_then(|()| fs::set_permissions(system_dir, Permissions::from_mode(0o755)))
        .map_err(|cause| Error::file("create", system_dir, &cause))
}

/// Stable per state folder, unique, and readable:
/// `/root/shop/.plinth` → `3f2a…-shop`.
fn outside_name(state_dir: &Path) -> String {
    let hash = short_hash(state_dir);
    let is_hidden = |name: &str| name.starts_with('.');
    let names = state_dir.iter().rev().map(|name| name.to_string_lossy());
    let name = names
        .into_iter()
        .find(|name| !is_hidden(name))
        .unwrap_or_default();
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        })
        .take(40)
        .collect();
    format!("{hash}-{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger() -> Account {
        Account {
            name: "stranger".to_owned(),
            uid: 4_000_001,
            gid: 4_000_001,
        }
    }

    fn folders(mode: u32) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("shop");
        let (state, system) = (project.join(".plinth"), folder.path().join("system"));
        fs::create_dir_all(&state).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&project, Permissions::from_mode(mode)).unwrap();
        (folder, state, system)
    }

    #[test]
    fn an_ordinary_user_keeps_the_database_in_the_state_folder() {
        let (_folder, state, system) = folders(0o700);

        let cluster_dir = ClusterDir::prepare(&state, None, &system).unwrap();
        cluster_dir.write_pointer().unwrap();

        assert_eq!(cluster_dir.path, state.canonicalize().unwrap());
        assert!(!state.join(POINTER).exists());
        assert!(!system.exists());
    }

    #[test]
    fn the_name_outside_is_stable_unique_and_readable() {
        let name = outside_name(Path::new("/root/my shop/.plinth"));

        assert_eq!(name, outside_name(Path::new("/root/my shop/.plinth")));
        assert_ne!(name, outside_name(Path::new("/home/my shop/.plinth")));
        assert!(name.ends_with("-my_shop"), "{name}");
        assert!(outside_name(Path::new("/")).len() > 16);
    }

    #[test]
    fn root_moves_the_database_where_its_user_can_reach_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root changes owners");
            return;
        }
        let (_folder, state, system) = folders(0o700);

        let cluster_dir = ClusterDir::prepare(&state, Some(&stranger()), &system).unwrap();
        assert!(cluster_dir.path.starts_with(&system));
        assert!(stranger().can_enter(&cluster_dir.path));
        assert!(!state.join(POINTER).exists(), "there is no database yet");

        fs::create_dir(cluster_dir.path.join("database")).unwrap();
        cluster_dir.write_pointer().unwrap();
        let again = ClusterDir::prepare(&state, Some(&stranger()), &system).unwrap();
        assert_eq!(again, cluster_dir);
        let text = fs::read_to_string(state.join(POINTER)).unwrap();
        assert_eq!(text, format!("{}\n", cluster_dir.path.display()));
    }

    #[test]
    fn root_lets_its_user_pass_through_a_reachable_state_folder() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root changes owners");
            return;
        }
        let (_folder, state, system) = folders(0o755);
        fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();

        let cluster_dir = ClusterDir::prepare(&state, Some(&stranger()), &system).unwrap();

        assert_eq!(cluster_dir.path, state.canonicalize().unwrap());
        assert!(stranger().can_enter(&state));
        assert_eq!(
            state.metadata().unwrap().permissions().mode() & 0o777,
            0o710
        );
    }

    #[test]
    fn a_removed_cluster_leaves_nothing_behind() {
        let (_folder, state, system) = folders(0o755);
        let state = state.canonicalize().unwrap();
        let outside = system.join(outside_name(&state));
        fs::create_dir_all(outside.join("database")).unwrap();
        let stranger = system.join("somebody-else");
        fs::create_dir_all(&stranger).unwrap();

        fs::write(state.join(POINTER), format!("{}\n", outside.display())).unwrap();
        remove(&state).unwrap();
        assert!(!outside.exists() && !state.exists());
        remove(&state).unwrap();

        fs::create_dir_all(&state).unwrap();
        fs::write(state.join(POINTER), format!("{}\n", stranger.display())).unwrap();
        remove(&state).unwrap();
        assert!(stranger.exists() && !state.exists());
    }

    #[test]
    fn a_pointer_to_nothing_is_an_error_and_not_an_empty_database() {
        let (_folder, state, system) = folders(0o755);
        fs::write(state.join(POINTER), "/nowhere/at/all\n").unwrap();

        let error = ClusterDir::prepare(&state, None, &system)
            .unwrap_err()
            .to_string();

        assert!(error.contains("/nowhere/at/all"), "{error}");
        assert!(error.contains("data-location"), "{error}");
    }
}
