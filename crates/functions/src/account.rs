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
}
