//! Folders of the system with copies of programs, for users who cannot reach the originals: a clone
//! below root's home is closed to them.
//!
//! A copy is a folder, one for each version of a program. It stays as long as a process uses it, and
//! [`remove_unused_copies`] removes the others. Two locks of the kernel, which end with their process,
//! keep servers apart: one of the folder, held while a copy is made, taken into use or removed, and one
//! of each copy, shared by the processes that use it. They are on files that only root can open: who can
//! open a file can lock it, and so stop every start.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

/// How the name of a copy begins that is not complete.
pub const PARTIAL_PREFIX: &str = ".copy-";

/// How the name of a copy begins that is being removed.
const REMOVED_PREFIX: &str = ".copy-removed-";

/// The lock of all copies.
const FOLDER_LOCK: &str = ".lock";

/// The locks of the copies that this process uses, by device and inode. It may start their programs
/// again at any time, so they are kept until it ends.
static USED: Mutex<Vec<((u64, u64), File)>> = Mutex::new(Vec::new());

/// Creates what is missing of a path, for others to read and traverse. The process may have a strict
/// umask. What somebody else has created meanwhile stays as it is.
pub fn create_public(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|step| !step.exists())
        .collect();
    for step in missing.iter().rev() {
        match fs::create_dir(step) {
            Ok(()) => fs::set_permissions(step, Permissions::from_mode(0o755))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether only root can put something at this path, which must have no symlinks. A folder with the
/// sticky bit keeps what is root's.
pub fn is_roots_own(folder: &Path) -> bool {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    folder.ancestors().all(|step| {
        step.symlink_metadata().is_ok_and(|found| {
            let is_kept = step != folder && found.mode() & STICKY != 0;
            found.uid() == 0 && (is_kept || found.mode() & WRITABLE_BY_OTHERS == 0)
        })
    })
}

/// Has `complete` make the copy `name` below a folder, or check the one that is there, and uses it
/// from then on. Returns its path. Fails where others than root could have changed it.
pub fn use_copy(
    folder: &Path,
    name: &str,
    complete: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    // Before anything is created: others could replace it at once.
    if let Some(existing) = folder.ancestors().find(|step| step.exists()) {
        ensure_roots_own(&existing.canonicalize()?)?;
    }
    create_public(folder)?;
    let folder = folder.canonicalize()?;
    ensure_roots_own(&folder)?;
    let _lock = lock_copies(&folder)?;
    let copy = folder.join(name);
    if copy.symlink_metadata().is_ok() {
        ensure_roots_own(&copy)?;
    }
    complete(&copy)?;
    hold(&folder, name)?;
    Ok(copy)
}

/// Locks the copy, unless this process does so already.
fn hold(folder: &Path, name: &str) -> io::Result<()> {
    let lock = open_lock(&lock_of(folder, name))?;
    let found = lock.metadata()?;
    let id = (found.dev(), found.ino());
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    if !used.iter().any(|(held, _)| *held == id) {
        lock.lock_shared()?;
        used.push((id, lock));
    }
    Ok(())
}

fn ensure_roots_own(folder: &Path) -> io::Result<()> {
    if is_roots_own(folder) {
        return Ok(());
    }
    let message = format!("other users than root may write to {}", folder.display());
    Err(io::Error::other(message))
}

fn lock_copies(folder: &Path) -> io::Result<File> {
    let lock = open_lock(&folder.join(FOLDER_LOCK))?;
    lock.lock()?;
    Ok(lock)
}

/// The lock of a copy.
fn lock_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.lock"))
}

fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.open(path)
}

/// Removes copies that no process uses, and what is left of those that broke off. Leaves everything
/// whose name is not one that `is_copy` knows.
pub fn remove_unused_copies(folder: &Path, is_copy: impl Fn(&str) -> bool) -> io::Result<()> {
    let Ok(folder) = folder.canonicalize() else {
        return Ok(());
    };
    if !is_roots_own(&folder) {
        return Ok(());
    }
    let mut removed = Ok(());
    for entry in set_unused_aside(&folder, is_copy)? {
        match fs::remove_dir_all(entry) {
            // Another server was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => removed = Err(error),
            Ok(()) => {}
        }
    }
    removed
}

/// Renames them, because removing takes long, and returns their new paths.
fn set_unused_aside(folder: &Path, is_copy: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let _lock = lock_copies(folder)?;
    let mut aside = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        let is_removed = name.starts_with(REMOVED_PREFIX);
        let is_partial = name.starts_with(PARTIAL_PREFIX);
        if is_removed {
            aside.push(path);
        } else if is_partial || (is_copy(name) && !is_used(folder, name)?) {
            let renamed = folder.join(removed_name(name));
            fs::rename(&path, &renamed)?;
            if !is_partial {
                fs::remove_file(lock_of(folder, name))?;
            }
            aside.push(renamed);
        }
    }
    Ok(aside)
}

/// A name that nothing is copied to, unlike that of a copy that broke off: its process id may be
/// another server's by now.
fn removed_name(name: &str) -> String {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let number = since_1970.map_or(0, |since| since.as_nanos());
    let name = name.trim_start_matches('.');
    format!("{REMOVED_PREFIX}{}-{number}-{name}", std::process::id())
}

/// Whether a server uses the copy, or a program in it still runs because its server was killed.
fn is_used(folder: &Path, name: &str) -> io::Result<bool> {
    match open_lock(&lock_of(folder, name))?.try_lock() {
        Ok(()) => Ok(is_running(&folder.join(name))),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a process runs a program in the folder. Only Linux says so.
fn is_running(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut programs =
        processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok());
    programs.any(|program| program.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::chown, process::Command};

    use super::*;

    struct KilledOnDrop(std::process::Child);

    impl Drop for KilledOnDrop {
        fn drop(&mut self) {
            _ = self.0.kill();
            _ = self.0.wait();
        }
    }

    fn is_root() -> bool {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            eprintln!("skipped: only root's folders are used");
        }
        is_root
    }

    /// With copies of these names, which nobody uses.
    fn folder(copies: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap().join("runtime");
        create_public(&folder).unwrap();
        for name in copies {
            make(&folder.join(name)).unwrap();
        }
        (home, folder)
    }

    fn make(copy: &Path) -> io::Result<()> {
        create_public(copy)?;
        fs::write(copy.join("program"), "")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.ends_with(".lock")).collect();
        names.sort_unstable();
        names
    }

    fn is_copy(name: &str) -> bool {
        name.starts_with("deno-")
    }

    #[test]
    fn created_folders_are_open_to_others_whatever_was_there() {
        let home = tempfile::tempdir().unwrap();
        let (closed, inside) = (home.path().join("closed"), home.path().join("closed/a/b"));
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();

        create_public(&inside).unwrap();

        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!(mode(&inside), 0o755);
        assert_eq!(mode(inside.parent().unwrap()), 0o755);
        assert_eq!(mode(&closed), 0o700);
    }

    #[test]
    fn a_folder_is_roots_own_if_all_above_it_are() {
        if !is_root() {
            return;
        }
        let (_home, folder) = folder(&["deno-1"]);
        let copy = folder.join("deno-1");
        let set = |mode| fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();

        assert!(is_roots_own(&copy));
        set(0o775);
        assert!(!is_roots_own(&copy));
        set(0o1777);
        assert!(is_roots_own(&copy) && !is_roots_own(&folder));
        set(0o755);
        chown(&folder, Some(65_534), None).unwrap();
        assert!(!is_roots_own(&copy));
    }

    #[test]
    fn a_copy_that_others_may_have_changed_is_not_used() {
        if !is_root() {
            return;
        }
        let (_home, folder) = folder(&["deno-1"]);
        let copy = folder.join("deno-1");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        let attempt = || use_copy(&folder, "deno-1", |_| Ok(()));

        set(&copy, 0o777);
        attempt().unwrap_err();
        set(&copy, 0o755);
        set(&folder, 0o777);
        attempt().unwrap_err();
        set(&folder, 0o755);
        assert_eq!(attempt().unwrap(), copy);
    }

    #[test]
    fn only_copies_without_a_user_are_removed() {
        if !is_root() {
            return;
        }
        let unused = ["deno-1", "deno-2", ".copy-7-deno-3", "node_modules"];
        let (_home, folder) = folder(&unused);
        fs::write(folder.join("deno-file"), "").unwrap();
        use_copy(&folder, "deno-4", make).unwrap();
        let elsewhere = open_lock(&lock_of(&folder, "deno-2")).unwrap();
        elsewhere.lock_shared().unwrap();

        remove_unused_copies(&folder, is_copy).unwrap();

        let used = ["deno-2", "deno-4", "deno-file", "node_modules"];
        assert_eq!(names(&folder), used);
        elsewhere.unlock().unwrap();
        remove_unused_copies(&folder, is_copy).unwrap();
        assert_eq!(names(&folder), ["deno-4", "deno-file", "node_modules"]);
    }

    #[test]
    fn locks_are_closed_to_others_and_go_with_their_copy() {
        if !is_root() {
            return;
        }
        let (_home, folder) = folder(&["deno-1"]);
        use_copy(&folder, "deno-2", make).unwrap();
        for name in [".lock", ".deno-2.lock"] {
            let mode = folder.join(name).metadata().unwrap().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }

        remove_unused_copies(&folder, is_copy).unwrap();

        assert!(!folder.join(".deno-1.lock").exists());
        assert!(folder.join(".deno-2.lock").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_copy_whose_program_runs_stays() {
        if !is_root() {
            return;
        }
        let (_home, folder) = folder(&["deno-1"]);
        let program = folder.join("deno-1/sleep");
        // A child of another test would inherit the descriptor to which we write, and a program that is
        // written to does not start.
        let copied = Command::new("cp").arg("/bin/sleep").arg(&program).status();
        assert!(copied.unwrap().success());
        let process = KilledOnDrop(Command::new(&program).arg("600").spawn().unwrap());

        remove_unused_copies(&folder, is_copy).unwrap();
        assert_eq!(names(&folder), ["deno-1"]);

        drop(process);
        remove_unused_copies(&folder, is_copy).unwrap();
        assert_eq!(names(&folder), [""; 0]);
    }

    #[test]
    fn without_a_folder_there_is_nothing_to_remove() {
        let home = tempfile::tempdir().unwrap();
        remove_unused_copies(&home.path().join("runtime"), is_copy).unwrap();
    }
}
