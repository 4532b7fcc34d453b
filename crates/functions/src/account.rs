//! A system user that workers run as. `accounts` says which project has which.

use std::{
    fs, io,
    os::unix::{
        fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

/// Begins the name of a directory of packages.
const DENO_DIR: &str = "deno";

/// A user and group of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account(pub(crate) u32);

impl Account {
    /// Runs the command as this user.
    pub(crate) fn apply_to(self, command: &mut Command) {
        // The standard library drops the supplementary groups together with root.
        command.gid(self.0).uid(self.0);
    }

    /// Whether any user may read the path and traverse its parents.
    pub(crate) fn can_read(path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else {
            return false;
        };
        let Ok(found) = path.metadata() else {
            return false;
        };
        let wanted = if found.is_dir() { 0o5 } else { 0o4 };
        let can_traverse =
            |folder: &Path| folder.metadata().is_ok_and(|found| found.mode() & 0o1 != 0);
        found.mode() & wanted == wanted && path.ancestors().skip(1).all(can_traverse)
    }

    /// Whether a process runs as this user. Only Linux says so.
    pub(crate) fn has_processes(self) -> bool {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut statuses =
            processes.filter_map(|process| fs::read_to_string(process.path().join("status")).ok());
        statuses.any(|status| self.is_user_of(&status))
    }

    /// Whether the process with that `/proc/<pid>/status` has this user as any of its four. One that
    /// only waits to be reaped does nothing any more.
    fn is_user_of(self, status: &str) -> bool {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let has_ended =
            field("State:").is_some_and(|state| state.trim_start().starts_with(['Z', 'X']));
        let mut users = field("Uid:")
            .into_iter()
            .flat_map(str::split_ascii_whitespace);
        !has_ended && users.any(|user| user.parse() == Ok(self.0))
    }

    /// The user whose directory of packages has this name.
    pub(crate) fn of_deno_dir(name: &str) -> Option<Self> {
        let number = name.strip_prefix(DENO_DIR)?.strip_prefix('-')?;
        number.parse().ok().map(Self)
    }

    /// Makes the user the owner of a directory and everything in it.
    pub(crate) fn take_ownership(self, path: &Path) -> io::Result<()> {
        let found = fs::symlink_metadata(path)?;
        if found.is_symlink() {
            return Ok(());
        }
        if found.uid() != self.0 || found.gid() != self.0 {
            chown(path, Some(self.0), Some(self.0))?;
        }
        if found.is_dir() {
            for entry in fs::read_dir(path)? {
                self.take_ownership(&entry?.path())?;
            }
        }
        Ok(())
    }
}

/// The name of a directory of packages: one per user, because another one could not add to it.
pub(crate) fn deno_dir_name(account: Option<Account>) -> String {
    match account {
        Some(Account(number)) => format!("{DENO_DIR}-{number}"),
        None => DENO_DIR.to_owned(),
    }
}

/// Creates a directory that every user may traverse, and not list.
pub(crate) fn create_traversable(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o711)
        .create(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o711))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn another_user_reads_what_is_open_up_to_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();

        set(folder.path(), 0o711);
        set(&inside, 0o755);
        assert!(Account::can_read(&inside));
        set(&inside, 0o711);
        assert!(!Account::can_read(&inside));
        set(&inside, 0o755);
        set(folder.path(), 0o700);
        assert!(!Account::can_read(&inside));
    }

    #[test]
    fn a_process_is_the_users_whichever_of_its_ids_is() {
        let user = Account(61_200);
        let check =
            |status: &str, expected| assert_eq!(user.is_user_of(status), expected, "{status}");

        check(
            "Name:\tdeno\nState:\tS (sleeping)\nUid:\t61200\t61200\t61200\t61200\n",
            true,
        );
        check(
            "State:\tR (running)\nUid:\t0\t0\t61200\t0\nGid:\t0\t0\t0\t0\n",
            true,
        );
        check(
            "State:\tS (sleeping)\nUid:\t0\t0\t0\t0\nGid:\t61200\t0\t0\t0\n",
            false,
        );
        check("State:\tS (sleeping)\nUid:\t612001\t6120\t0\t0\n", false);
        check(
            "State:\tZ (zombie)\nUid:\t61200\t61200\t61200\t61200\n",
            false,
        );
        check("", false);
    }

    #[test]
    fn a_directory_of_packages_says_whose_it_is() {
        let user = Account(61_200);

        assert_eq!(Account::of_deno_dir(&deno_dir_name(Some(user))), Some(user));
        for name in [
            deno_dir_name(None),
            "deno-".to_owned(),
            "deployed-61200".to_owned(),
        ] {
            assert_eq!(Account::of_deno_dir(&name), None, "{name}");
        }
    }
}
