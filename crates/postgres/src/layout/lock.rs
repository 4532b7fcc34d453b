//! One Plinth per state folder: an advisory lock that the kernel releases when its holder dies.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::create_private;
use crate::error::{Error, Result};

/// How long another server may look at the folder of one that was killed.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Held for as long as this process may use the state folder.
#[derive(Debug)]
pub struct InstanceLock {
    /// The lock belongs to the open file description and ends when its last descriptor is closed.
    file: File,
}

impl Drop for InstanceLock {
    /// Unlocks explicitly: a child process between fork and exec shares the descriptor and would keep
    /// the lock.
    fn drop(&mut self) {
        _ = self.file.unlock();
    }
}

impl InstanceLock {
    /// Locks `<state_dir>/lock`, creating the folder where it is missing, or fails with the pid of
    /// the holder.
    pub fn acquire(state_dir: &Path) -> Result<Self> {
        if !state_dir.is_dir() {
            create_private(state_dir)?;
        }
        let path = state_dir.join("lock");
        let failed = |cause| match Error::file("open", &path, &cause) {
            // Report the folder, which users know, instead of the lock file.
            Error::NotWritable { reason, .. } => Error::NotWritable {
                path: state_dir.to_owned(),
                reason,
            },
            other => other,
        };
        let mut options = File::options();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        match lock_soon(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let (pid, path) = (holder(&mut file), state_dir.to_owned());
                return Err(Error::AlreadyRunning { pid, path });
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        // The pid only informs people, so a full disk must not stop us here.
        _ = write_pid(&mut file);
        Ok(Self { file })
    }
}

/// Waits a moment: other servers lock the folder of one that was killed for as long as it takes to
/// rename a folder.
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(LOCK_RETRY_INTERVAL);
            }
            locked => return locked,
        }
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_plinth_fails_and_names_the_lock_holder() {
        let folder = tempfile::tempdir().unwrap();
        let state_dir = folder.path().join(".plinth");
        let first = InstanceLock::acquire(&state_dir).unwrap();

        let error = InstanceLock::acquire(&state_dir).unwrap_err();

        let pid = format!("(pid {})", std::process::id());
        assert!(error.to_string().contains(&pid), "{error}");
        drop(first);
        InstanceLock::acquire(&state_dir).unwrap();
    }

    #[test]
    fn it_ends_although_a_process_that_begins_has_the_file_open_too() {
        let folder = tempfile::tempdir().unwrap();
        let lock = InstanceLock::acquire(folder.path()).unwrap();
        let _inherited = lock.file.try_clone().unwrap();

        drop(lock);

        InstanceLock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn the_content_of_an_unheld_lock_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lock"), "1\n").unwrap();

        InstanceLock::acquire(folder.path()).unwrap();

        let text = std::fs::read_to_string(folder.path().join("lock")).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }
}
