//! Whose rights workers run with. A Plinth that is root gives each project a user of its own.

use std::{
    fs, io,
    os::unix::{
        fs::{MetadataExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

use plinth_project::ProjectRef;

/// Where systemd takes the users of services from that have no other; no person is among them.
const FIRST: u32 = 61_184;
const COUNT: u32 = 4_336;

/// A user and group of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account(pub(crate) u32);

impl Account {
    /// The user of a project; nothing where we are not root and could not change anyway.
    pub(crate) fn of(project: &ProjectRef) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let letters = project.as_str().bytes();
        let number = letters.fold(0_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        Some(Self(FIRST + number % COUNT))
    }

    /// Has the command run with its rights.
    pub(crate) fn take(self, command: &mut Command) {
        // The standard library drops the supplementary groups together with root.
        command.gid(self.0).uid(self.0);
    }

    /// Whether strangers may read the path and pass everything above it.
    pub(crate) fn can_reach(path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else {
            return false;
        };
        let Ok(found) = path.metadata() else {
            return false;
        };
        let wanted = if found.is_dir() { 0o5 } else { 0o4 };
        let can_pass = |folder: &Path| folder.metadata().is_ok_and(|found| found.mode() & 0o1 != 0);
        found.mode() & wanted == wanted && path.ancestors().skip(1).all(can_pass)
    }

    /// Gives a folder and everything in it to the user.
    pub(crate) fn own(self, path: &Path) -> io::Result<()> {
        let found = fs::symlink_metadata(path)?;
        if found.is_symlink() {
            return Ok(());
        }
        if found.uid() != self.0 || found.gid() != self.0 {
            chown(path, Some(self.0), Some(self.0))?;
        }
        if found.is_dir() {
            for entry in fs::read_dir(path)? {
                self.own(&entry?.path())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn a_stranger_reaches_what_is_open_all_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();

        set(folder.path(), 0o711);
        set(&inside, 0o755);
        assert!(Account::can_reach(&inside));
        set(&inside, 0o711);
        assert!(!Account::can_reach(&inside));
        set(&inside, 0o755);
        set(folder.path(), 0o700);
        assert!(!Account::can_reach(&inside));
    }

    #[test]
    fn a_project_always_has_the_same_user() {
        let project: ProjectRef = "abcdefghijklmnopqrst".parse().unwrap();

        let account = Account::of(&project);

        assert_eq!(account, Account::of(&project));
        let is_in_range = |Account(number): Account| (FIRST..FIRST + COUNT).contains(&number);
        assert!(account.is_none_or(is_in_range));
    }
}
