//! The directories that all workers share.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::PoisonError,
    time::Duration,
};

use uuid::Uuid;

use super::FunctionsService;
use crate::{account::create_traversable, worker::BOOTSTRAP};

/// The path of a unix socket has at most 107 bytes, of which a worker needs these.
const MAX_RUN_DIR_BYTES: usize = 107 - "/0123456789ab/s.sock".len();

/// The prefix of directories with sources that are prepared for a deployment only.
pub(super) const TRIAL_PREFIX: &str = "trial-";
/// A trial that is older was left behind by a server that was killed.
const MAX_TRIAL_AGE: Duration = Duration::from_secs(600);

/// What all workers share.
pub(super) struct RuntimeDirs {
    /// Where workers have their own directories, with their sockets.
    pub(super) run_dir: PathBuf,
    /// The script that runs before every function.
    pub(super) bootstrap: PathBuf,
}

impl FunctionsService {
    /// Created for the first worker.
    pub(super) fn runtime_dirs(&self) -> io::Result<&RuntimeDirs> {
        let lock = &self.0.runtime_dirs_lock;
        let _lock = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dirs) = self.0.runtime_dirs.get() {
            return Ok(dirs);
        }
        create_traversable(&self.0.parts.home)?;
        let home = self.0.parts.home.canonicalize()?;
        let bootstrap = write_bootstrap(&home)?;
        remove_leftovers(&home);
        let run_dir = create_run_dir(&home)?;
        let dirs = RuntimeDirs { run_dir, bootstrap };
        Ok(self.0.runtime_dirs.get_or_init(|| dirs))
    }
}

fn write_bootstrap(home: &Path) -> io::Result<PathBuf> {
    let bootstrap = home.join("bootstrap.js");
    // Renamed when it is complete: another server with the same home may be reading it.
    let partial = home.join(format!("bootstrap-{}", Uuid::new_v4().simple()));
    fs::write(&partial, BOOTSTRAP)?;
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o644))?;
    fs::rename(&partial, &bootstrap)?;
    Ok(bootstrap)
}

/// Removes the worker directories and trials that a server left behind which was killed. There is one
/// server at a time.
fn remove_leftovers(home: &Path) {
    let entries = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    let has_prefix = |entry: &fs::DirEntry, prefix| {
        let file_name = entry.file_name();
        file_name.to_string_lossy().starts_with(prefix)
    };
    for entry in entries(home) {
        if has_prefix(&entry, "run-") {
            _ = fs::remove_dir_all(entry.path());
            continue;
        }
        let trials = entries(&entry.path()).filter(|trial| has_prefix(trial, TRIAL_PREFIX));
        for trial in trials.filter(is_abandoned) {
            _ = fs::remove_dir_all(trial.path());
        }
    }
}

fn is_abandoned(trial: &fs::DirEntry) -> bool {
    let modified = trial.metadata().and_then(|found| found.modified());
    let age = modified.ok().and_then(|modified| modified.elapsed().ok());
    age.is_some_and(|age| age >= MAX_TRIAL_AGE)
}

/// Below the home directory, unless that path is too long for sockets.
fn create_run_dir(home: &Path) -> io::Result<PathBuf> {
    let name = format!("run-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let inside = home.join(&name);
    let dir = if inside.as_os_str().len() <= MAX_RUN_DIR_BYTES {
        inside
    } else {
        short_dir().join(format!("plinth-functions-{name}"))
    };
    create_traversable(&dir)?;
    Ok(dir)
}

/// Not `/tmp` if possible: a worker's private one would hide it.
fn short_dir() -> PathBuf {
    let var_tmp = PathBuf::from("/var/tmp");
    if var_tmp.is_dir() {
        var_tmp
    } else {
        std::env::temp_dir()
    }
}
