//! The folder that all test programs of a run share: what one of them prepares, the others copy.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process,
};

use anyhow::{Context, Result};

/// Read by the test kit and by the suites in JavaScript.
pub(super) const VARIABLE: &str = "PLINTH_TEST_SHARED_DIR";

const PREFIX: &str = "plinth-tests-";

/// The folder, until it is dropped.
pub(super) struct SharedFolder(tempfile::TempDir);

impl SharedFolder {
    /// In memory where that is possible: PostgreSQL writes hundreds of files there.
    pub(super) fn create() -> Result<Self> {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() {
            memory
        } else {
            env::temp_dir()
        };
        remove_stale(&parent);
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", process::id()))
            // PostgreSQL runs as another user if the tests run as root.
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir_in(&parent)
            .with_context(|| format!("there is no folder in {}", parent.display()))?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Removes folders of runs that were killed, where processes can be looked up.
fn remove_stale(parent: &Path) {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| Some(name.strip_prefix(PREFIX)?.split_once('-')?.0));
        if pid.is_some_and(|pid| !processes.join(pid).exists()) {
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_killed_run_is_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = |pid: u32| parent.path().join(format!("{PREFIX}{pid}-abc"));
        let own = process::id();
        // Larger than any process id.
        let gone = u32::MAX;
        for pid in [own, gone] {
            fs::create_dir(folder(pid)).expect("a folder");
        }

        remove_stale(parent.path());

        assert!(folder(own).exists());
        assert_eq!(folder(gone).exists(), !Path::new("/proc/self").exists());
    }
}
