//! Which folder holds the database: the state folder, unless the user that runs Postgres cannot
//! get there. Then it is one below the system folder, and `data-location` in the state folder
//! says so.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{create_private, open_for_passing, short_hash};
use crate::account::Account;
use crate::error::{Error, Result};

const POINTER: &str = "data-location";

/// The folder around the data folder and, where its path is short enough, the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    /// Set when the database lies outside of the state folder.
    pointer: Option<PathBuf>,
}

impl Home {
    /// Chooses and creates the folder. What an earlier start decided stays decided.
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
                    action: "find the database that data-location speaks of in",
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
            open_for_passing(&state_dir, account)?;
            return Ok(Self {
                path: state_dir,
                pointer: None,
            });
        }
        let path = system_dir.join(outside_name(&state_dir));
        create_system_dir(system_dir)?;
        create_private(&path)?;
        open_for_passing(&path, account)?;
        Ok(Self {
            path,
            pointer: Some(pointer),
        })
    }

    /// Tells people, and the next start, where the database is. Only once there is one, so that an
    /// interrupted first start leaves no pointer to nothing.
    pub(crate) fn write_pointer(&self) -> Result<()> {
        let Some(pointer) = &self.pointer else {
            return Ok(());
        };
        fs::write(pointer, format!("{}\n", self.path.display()))
            .map_err(|cause| Error::file("write", pointer, &cause))
    }
}

fn read_pointer(pointer: &Path) -> Result<Option<PathBuf>> {
    match fs::read_to_string(pointer) {
        Ok(text) => Ok(Some(PathBuf::from(text.trim_end_matches('\n')))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::file("read", pointer, &cause)),
    }
}

/// Others only pass through it; what is inside is private or meant to be read.
fn create_system_dir(system_dir: &Path) -> Result<()> {
    if system_dir.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(system_dir)
        .and_then(|()| fs::set_permissions(system_dir, Permissions::from_mode(0o755)))
        .map_err(|cause| Error::file("create", system_dir, &cause))
}

/// The same for every start in the same folder, different for every folder, and readable:
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

        let home = Home::prepare(&state, None, &system).unwrap();
        home.write_pointer().unwrap();

        assert_eq!(home.path, state.canonicalize().unwrap());
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

        let home = Home::prepare(&state, Some(&stranger()), &system).unwrap();
        assert!(home.path.starts_with(&system));
        assert!(stranger().can_enter(&home.path));
        assert!(!state.join(POINTER).exists(), "there is no database yet");

        fs::create_dir(home.path.join("database")).unwrap();
        home.write_pointer().unwrap();
        let again = Home::prepare(&state, Some(&stranger()), &system).unwrap();
        assert_eq!(again, home);
        let text = fs::read_to_string(state.join(POINTER)).unwrap();
        assert_eq!(text, format!("{}\n", home.path.display()));
    }

    #[test]
    fn root_lets_its_user_pass_through_a_reachable_state_folder() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root changes owners");
            return;
        }
        let (_folder, state, system) = folders(0o755);
        fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();

        let home = Home::prepare(&state, Some(&stranger()), &system).unwrap();

        assert_eq!(home.path, state.canonicalize().unwrap());
        assert!(stranger().can_enter(&state));
        assert_eq!(
            state.metadata().unwrap().permissions().mode() & 0o777,
            0o710
        );
    }

    #[test]
    fn a_pointer_to_nothing_is_an_error_and_not_an_empty_database() {
        let (_folder, state, system) = folders(0o755);
        fs::write(state.join(POINTER), "/nowhere/at/all\n").unwrap();

        let error = Home::prepare(&state, None, &system)
            .unwrap_err()
            .to_string();

        assert!(error.contains("/nowhere/at/all"), "{error}");
        assert!(error.contains("data-location"), "{error}");
    }
}
