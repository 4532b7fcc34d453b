//! The folder of prepared functions.
//!
//! It is in the state folder, unless Plinth is root and the users of workers cannot enter that. Then it
//! is in a folder of the system while the server runs, and is moved back when it stops, so that
//! deleting the state folder deletes everything.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use crate::failure::Outcome;

/// Parent of function folders that the users of workers can enter.
const SYSTEM_DIR: &str = "/var/lib/plinth";
/// Name in the state folder.
const FUNCTIONS: &str = "functions";
/// File in the state folder with the location of the function folder, if it is elsewhere.
const LOCATION_FILE: &str = "functions-location";
/// Extension of a file beside such a folder, with the path of its state folder.
const OWNER_EXTENSION: &str = "owner";

/// Where prepared functions are while the server runs.
pub(super) fn open(state: &Path) -> Outcome<PathBuf> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || is_traversable(state) {
        return Ok(state.join(FUNCTIONS));
    }
    let state = state.canonicalize()?;
    fs::create_dir_all(SYSTEM_DIR)?;
    if !is_traversable(Path::new(SYSTEM_DIR)) {
        return Ok(state.join(FUNCTIONS));
    }
    Ok(move_out(&state, Path::new(SYSTEM_DIR))?)
}

/// Moves the folder into the system's one, or uses the one that is there already because the server was
/// killed.
fn move_out(state: &Path, system_dir: &Path) -> io::Result<PathBuf> {
    let external = external_folder(state, system_dir);
    fs::write(
        external.with_extension(OWNER_EXTENSION),
        state.as_os_str().as_bytes(),
    )?;
    fs::write(
        state.join(LOCATION_FILE),
        format!("{}\n", external.display()),
    )?;
    if !external.exists() {
        // Without it functions are prepared again.
        _ = fs::rename(state.join(FUNCTIONS), &external);
    }
    Ok(external)
}

/// The folder's name depends on the state folder alone: what a file says could be any folder.
fn external_folder(state: &Path, system_dir: &Path) -> PathBuf {
    let hash = plinth_token::credential_hash(&state.to_string_lossy());
    system_dir.join(format!("{FUNCTIONS}-{}", &hash[..16]))
}

/// Moves the folder back into the state folder. Where that fails, as on another file system, it is removed:
/// functions are prepared again at the next start.
pub(super) fn move_back(state: &Path) {
    move_back_from(state, Path::new(SYSTEM_DIR));
}

fn move_back_from(state: &Path, system_dir: &Path) {
    let location = state.join(LOCATION_FILE);
    let (true, Ok(state)) = (location.exists(), state.canonicalize()) else {
        return;
    };
    let external = external_folder(&state, system_dir);
    if external.symlink_metadata().is_ok()
        && fs::rename(&external, state.join(FUNCTIONS)).is_err()
        && let Err(error) = fs::remove_dir_all(&external)
    {
        tracing::warn!("{} cannot be removed: {error}", external.display());
        return;
    }
    _ = fs::remove_file(external.with_extension(OWNER_EXTENSION));
    _ = fs::remove_file(location);
}

/// Removes function folders outside of state folders that no longer exist. It may take long.
pub(super) fn remove_orphaned() {
    if rustix::process::geteuid().is_root() {
        remove_orphans(Path::new(SYSTEM_DIR));
    }
}

/// Removes folders whose state folder does not exist any more.
fn remove_orphans(system_dir: &Path) {
    let entries = fs::read_dir(system_dir).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_owner_file = |path: &PathBuf| path.extension().is_some_and(|end| end == OWNER_EXTENSION);
    for owner_file in paths.filter(is_owner_file) {
        let Ok(state) = fs::read(&owner_file) else {
            continue;
        };
        let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        let state = Path::new(OsStr::from_bytes(&state));
        if state.symlink_metadata().is_err_and(is_missing) {
            _ = fs::remove_dir_all(owner_file.with_extension(""));
            _ = fs::remove_file(owner_file);
        }
    }
}

/// Whether all users may traverse the folder and its ancestors.
fn is_traversable(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    let is_open = |path: &Path| path.metadata().is_ok_and(|found| found.mode() & 0o1 != 0);
    folder.ancestors().all(is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn prepared_functions_are_in_the_state_folder_while_no_server_runs() {
        let (state, system) = (tempfile::tempdir(), tempfile::tempdir());
        let (state, system) = (state.expect("a folder"), system.expect("a folder"));
        let (state, system) = (state.path(), system.path());

        let external = move_out(state, system).expect("a place");
        fs::create_dir(&external).expect("created");
        fs::write(external.join("prepared"), "").expect("written");
        assert_eq!(names(system).len(), 2);
        move_back_from(state, system);
        assert_eq!(names(system), [""; 0]);
        assert_eq!(names(state), ["functions"]);

        assert_eq!(move_out(state, system).expect("a place"), external);
        assert!(external.join("prepared").is_file());
        assert_eq!(names(state), ["functions-location"]);
        // The next start after a kill finds it where it is.
        assert_eq!(move_out(state, system).expect("a place"), external);
        assert!(external.join("prepared").is_file());
    }

    #[test]
    fn what_cannot_be_moved_back_is_removed() {
        let (state, system) = (tempfile::tempdir(), tempfile::tempdir());
        let (state, system) = (state.expect("a folder"), system.expect("a folder"));
        let (state, system) = (state.path(), system.path());
        let external = move_out(state, system).expect("a place");
        fs::create_dir(&external).expect("created");
        // In place of another file system: a folder with something in it is not replaced.
        fs::create_dir_all(state.join("functions/newer")).expect("created");

        move_back_from(state, system);

        assert_eq!(names(system), [""; 0]);
        assert_eq!(names(state), ["functions"]);
    }

    #[test]
    fn a_server_without_functions_leaves_nothing_behind() {
        let (state, system) = (tempfile::tempdir(), tempfile::tempdir());
        let (state, system) = (state.expect("a folder"), system.expect("a folder"));
        move_out(state.path(), system.path()).expect("a place");

        move_back_from(state.path(), system.path());

        assert_eq!(names(system.path()), [""; 0]);
        assert_eq!(names(state.path()), [""; 0]);
        move_back_from(state.path(), system.path());
    }

    #[test]
    fn folders_are_removed_after_their_state_folder() {
        let system_dir = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let gone = state.path().join("gone");
        let create = |name: &str, owner: Option<&Path>| {
            let folder = system_dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), "").unwrap();
            if let Some(owner) = owner {
                let owner = owner.as_os_str().as_bytes();
                fs::write(folder.with_extension(OWNER_EXTENSION), owner).unwrap();
            }
            folder
        };
        let used = create("functions-1", Some(state.path()));
        let orphan = create("functions-2", Some(&gone));
        let unknown = create("functions-3", None);

        remove_orphans(system_dir.path());

        assert!(used.is_dir() && used.with_extension(OWNER_EXTENSION).is_file());
        assert!(!orphan.exists() && !orphan.with_extension(OWNER_EXTENSION).exists());
        assert!(unknown.is_dir());
    }
}
