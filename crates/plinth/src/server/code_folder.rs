//! The folder of prepared functions.
//!
//! It is in the state folder, unless Plinth is root and the users of workers cannot enter that. Then it
//! is in a folder of the system while the server runs, and is moved back when it stops, so that
//! deleting the state folder deletes everything. After a kill, the next server on the machine moves it
//! back. Databases are never touched here.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use plinth_child::public_folder;
use plinth_functions::UserTable;
use rustix::fs::OFlags;

use crate::failure::Outcome;

/// Parent of function folders that the users of workers can enter.
const SYSTEM_DIR: &str = "/var/lib/plinth";
/// Name in the state folder.
const FUNCTIONS: &str = "functions";
/// File in the state folder with the location of the function folder, if it is elsewhere.
const LOCATION_FILE: &str = "functions-location";
/// Extension of a file beside such a folder, with the path of its state folder.
const OWNER_EXTENSION: &str = "owner";
/// How the name of a folder begins that is being removed.
const REMOVED_PREFIX: &str = "removed-";
/// File in the state folder that a server locks as long as it runs.
const LOCK: &str = "lock";
/// Name of the folder with copies of programs, in the system's one.
const COPIES: &str = "runtime";
/// Name of the folder that says which project has which system user.
const USERS: &str = "users";

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

/// Where it is written which project of this machine has which system user.
pub(super) fn user_table(state: &Path, home: &Path) -> Outcome<UserTable> {
    let state = state.canonicalize()?;
    let path = if rustix::process::geteuid().is_root() {
        shared_user_table(Path::new(SYSTEM_DIR)).unwrap_or_else(|error| {
            tracing::warn!(
                "projects of another Plinth on this machine may have the same system users: {error}"
            );
            home.join(USERS)
        })
    } else {
        home.join(USERS)
    };
    Ok(UserTable { path, state })
}

/// The table of all installations, if nobody else can replace it.
fn shared_user_table(system_dir: &Path) -> io::Result<PathBuf> {
    public_folder::create_public(system_dir)?;
    let system_dir = system_dir.canonicalize()?;
    let table = system_dir.join(USERS);
    let found = if table.exists() { &table } else { &system_dir };
    if !public_folder::is_roots_own(found) {
        let message = format!("other users than root may write to {}", found.display());
        return Err(io::Error::other(message));
    }
    Ok(table)
}

/// Moves the folder back into the state folder. Where that fails, as on another file system, it is removed:
/// functions are prepared again at the next start.
pub(super) fn move_back(state: &Path) {
    let system_dir = Path::new(SYSTEM_DIR);
    if let Some(aside) = move_back_from(state, system_dir) {
        remove_aside(&aside);
    }
}

/// Returns what could not be moved, under another name.
fn move_back_from(state: &Path, system_dir: &Path) -> Option<PathBuf> {
    let location = state.join(LOCATION_FILE);
    let (true, Ok(state)) = (location.exists(), state.canonicalize()) else {
        return None;
    };
    let external = external_folder(&state, system_dir);
    let mut aside = None;
    if external.symlink_metadata().is_ok() && fs::rename(&external, state.join(FUNCTIONS)).is_err()
    {
        aside = set_aside(&external);
        aside.as_ref()?;
    }
    _ = fs::remove_file(external.with_extension(OWNER_EXTENSION));
    _ = fs::remove_file(location);
    aside
}

/// Renames a folder, because removing it takes long.
fn set_aside(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?;
    let number = uuid::Uuid::new_v4().simple();
    let aside = folder.with_file_name(format!("{REMOVED_PREFIX}{name}-{number}"));
    match fs::rename(folder, &aside) {
        Ok(()) => Some(aside),
        Err(error) => {
            tracing::warn!("{} cannot be removed: {error}", folder.display());
            None
        }
    }
}

fn remove_aside(aside: &Path) {
    if let Err(error) = fs::remove_dir_all(aside) {
        tracing::warn!("{} cannot be removed: {error}", aside.display());
    }
}

/// Removes from the system's folder what no server uses: function folders of servers that do not run
/// any more, and copies of programs. It may take long.
pub(super) fn remove_orphaned() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let Ok(system_dir) = Path::new(SYSTEM_DIR).canonicalize() else {
        return;
    };
    // Somebody else could say there that any folder is to be renamed or removed.
    if !public_folder::is_roots_own(&system_dir) {
        return;
    }
    remove_orphans(&system_dir);
    let copies = system_dir.join(COPIES);
    if let Err(error) = public_folder::remove_unused_copies(&copies, is_program_copy) {
        tracing::warn!("unused programs in {} remain: {error}", copies.display());
    }
}

/// Copies are named after Deno, or after a version of PostgreSQL alone. People may have other things
/// there.
fn is_program_copy(name: &str) -> bool {
    name.starts_with("deno-") || name.starts_with(|first: char| first.is_ascii_digit())
}

/// Removes the folders of state folders that do not exist any more, and moves those back whose server
/// was killed.
fn remove_orphans(system_dir: &Path) {
    let entries = fs::read_dir(system_dir).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(REMOVED_PREFIX) {
            remove_aside(&path);
        } else if path.extension().is_some_and(|end| end == OWNER_EXTENSION)
            && let Ok(state) = fs::read(&path)
        {
            remove_if_unused(&path, Path::new(OsStr::from_bytes(&state)), system_dir);
        }
    }
}

fn remove_if_unused(owner_file: &Path, state: &Path, system_dir: &Path) {
    let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    let folder = owner_file.with_extension("");
    if state.symlink_metadata().is_err_and(is_missing) {
        _ = fs::remove_dir_all(folder);
        _ = fs::remove_file(owner_file);
        return;
    }
    // Not locked for longer than that takes: the server may be starting again.
    let Some(lock) = StateLock::acquire(state) else {
        return;
    };
    let mut aside = move_back_from(state, system_dir);
    if owner_file.exists() {
        // The state folder is another one by now.
        aside = set_aside(&folder);
        if folder.symlink_metadata().is_err() {
            _ = fs::remove_file(owner_file);
        }
    }
    drop(lock);
    if let Some(aside) = aside {
        remove_aside(&aside);
    }
}

/// Keeps the server of a state folder from starting. None where there is no file to lock: then no server
/// has run there.
struct StateLock(Option<fs::File>);

impl StateLock {
    /// `None` while a server runs.
    fn acquire(state: &Path) -> Option<Self> {
        // What a file says could be any folder, with a pipe of that name in it.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let mut options = fs::File::options();
        let options = options.read(true).custom_flags(flags.bits().cast_signed());
        match options.open(state.join(LOCK)) {
            Ok(file) => file.try_lock().ok().map(|()| Self(Some(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Self(None)),
            Err(_) => None,
        }
    }
}

impl Drop for StateLock {
    /// Unlocks explicitly: a child process between fork and exec shares the descriptor.
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            _ = file.unlock();
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
    use std::os::unix::fs::PermissionsExt as _;

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
        assert!(move_back_from(state, system).is_none());
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

        remove_aside(&move_back_from(state, system).expect("what is left"));

        assert_eq!(names(system), [""; 0]);
        assert_eq!(names(state), ["functions"]);
    }

    #[test]
    fn a_server_without_functions_leaves_nothing_behind() {
        let (state, system) = (tempfile::tempdir(), tempfile::tempdir());
        let (state, system) = (state.expect("a folder"), system.expect("a folder"));
        move_out(state.path(), system.path()).expect("a place");

        assert!(move_back_from(state.path(), system.path()).is_none());

        assert_eq!(names(system.path()), [""; 0]);
        assert_eq!(names(state.path()), [""; 0]);
        assert!(move_back_from(state.path(), system.path()).is_none());
    }

    /// What a server that runs now has locked.
    fn lock(state: &Path) -> fs::File {
        let lock = fs::File::create(state.join(LOCK)).unwrap();
        lock.lock().unwrap();
        lock
    }

    #[test]
    fn folders_are_removed_after_their_state_folder() {
        let system_dir = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let gone = state.path().join("gone");
        let _lock = lock(state.path());
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
        let removed = create("removed-functions-4", None);
        let database = create("0123456789abcdef-shop", None);

        remove_orphans(system_dir.path());

        assert!(used.is_dir() && used.with_extension(OWNER_EXTENSION).is_file());
        assert!(!orphan.exists() && !orphan.with_extension(OWNER_EXTENSION).exists());
        assert!(unknown.is_dir() && database.join("file").is_file());
        assert!(!removed.exists());
    }

    #[test]
    fn what_a_killed_server_left_outside_is_moved_back_by_another_one() {
        let (state, system) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = state.path().canonicalize().unwrap();
        let system = system.path();
        let running = lock(&state);
        let external = move_out(&state, system).unwrap();
        fs::create_dir(&external).unwrap();
        fs::write(external.join("prepared"), "").unwrap();
        fs::create_dir_all(state.join("database")).unwrap();

        remove_orphans(system);
        assert!(external.join("prepared").is_file());

        running.unlock().unwrap();
        remove_orphans(system);
        assert_eq!(names(system), [""; 0]);
        assert_eq!(names(&state), ["database", "functions", "lock"]);
        assert!(state.join("functions/prepared").is_file());
        // It can start.
        lock(&state);
    }

    #[test]
    fn what_a_killed_server_left_is_removed_where_it_cannot_be_moved_back() {
        let (state, system) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (replaced, system) = (state.path().canonicalize().unwrap(), system.path());
        let blocked = replaced.join("blocked");
        fs::create_dir(&blocked).unwrap();
        for state in [&blocked, &replaced] {
            let external = move_out(state, system).unwrap();
            fs::create_dir(&external).unwrap();
        }
        // Instead of another file system: a folder with something in it is not replaced.
        fs::create_dir_all(blocked.join("functions/newer")).unwrap();
        // The folder was deleted, and there is another one.
        fs::remove_file(replaced.join(LOCATION_FILE)).unwrap();

        remove_orphans(system);

        assert_eq!(names(system), [""; 0]);
        assert_eq!(names(&blocked), ["functions"]);
        assert_eq!(names(&replaced), ["blocked"]);
    }

    #[test]
    fn the_users_of_all_installations_are_in_one_table() {
        let system = tempfile::tempdir().unwrap();
        let home = system.path().canonicalize().unwrap().join("plinth");

        let table = shared_user_table(&home);

        if rustix::process::geteuid().is_root() {
            assert_eq!(table.unwrap(), home.join("users"));
            fs::set_permissions(&home, fs::Permissions::from_mode(0o777)).unwrap();
            shared_user_table(&home).unwrap_err();
        } else {
            table.unwrap_err();
        }
    }

    #[test]
    fn only_copies_of_programs_are_removed() {
        for name in ["deno-2.1.0", "18.4.0-beta.17", "17.2"] {
            assert!(is_program_copy(name), "{name}");
        }
        for name in ["node_modules", "package.json", "deno", "users"] {
            assert!(!is_program_copy(name), "{name}");
        }
    }
}
