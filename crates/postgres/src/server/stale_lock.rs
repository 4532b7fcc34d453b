//! Removes the lock file beside the socket when no server uses it any more.
//!
//! PostgreSQL takes the lock for valid while any process of the same user has the pid in it. After
//! the postmaster was killed that may be another process, or a zombie that is not reaped, and every
//! start would fail. The socket folder belongs to one cluster, so the lock is valid only while a
//! postmaster listens on the socket. Blocking.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::Pid;

use super::process_table::is_postgres;
use super::stale_server::PidFile;
use crate::error::{Error, Result};
use crate::layout::open_nofollow;

/// Called when no PostgreSQL process runs on the data folder any more.
pub(super) fn remove(socket: &Path) -> Result<()> {
    let mut lock = socket.as_os_str().to_owned();
    lock.push(".lock");
    let lock = Path::new(&lock);
    let Some(text) = read(lock)? else {
        return Ok(());
    };
    let holder = PidFile::parse(&text).map(|file| file.pid);
    if is_in_use(holder, socket) {
        // The server's own message names the holder.
        return Ok(());
    }
    tracing::info!(
        pid = holder.map(|pid| pid.as_raw_nonzero().get()),
        "removing the stale lock file of the database socket"
    );
    for path in [socket, lock] {
        match fs::remove_file(path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file("remove", path, &cause));
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_in_use(holder: Option<Pid>, socket: &Path) -> bool {
    holder.is_some_and(is_postgres) && UnixStream::connect(socket).is_ok()
}

/// The folder belongs to the PostgreSQL user and we may be root, so a link is not followed.
fn read(lock: &Path) -> Result<Option<String>> {
    match open_nofollow(lock).and_then(io::read_to_string) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        // Neither text nor a file: certainly no lock of a running server.
        Err(cause)
            if cause.kind() == io::ErrorKind::InvalidData
                || cause.raw_os_error() == Some(libc::ELOOP) =>
        {
            Ok(Some(String::new()))
        }
        Err(cause) => Err(Error::file("read", lock, &cause)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use super::*;

    fn locked_by(pid: u32) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join(".s.PGSQL.5432");
        let lock = folder.path().join(".s.PGSQL.5432.lock");
        fs::write(&lock, format!("{pid}\n/data\n1763175600\n5432\n")).unwrap();
        (folder, socket, lock)
    }

    #[test]
    fn the_lock_of_a_process_that_is_no_server_is_removed_with_its_socket() {
        let (_folder, socket, lock) = locked_by(std::process::id());
        let listener = UnixListener::bind(&socket).unwrap();
        drop(listener);

        remove(&socket).unwrap();

        assert!(!lock.exists());
        assert!(!socket.exists());
    }

    #[test]
    fn broken_and_planted_locks_are_removed_and_targets_of_links_stay() {
        let (folder, socket, lock) = locked_by(1);
        for text in [&b""[..], b"many\n", &[0xff, 0xfe]] {
            fs::write(&lock, text).unwrap();
            remove(&socket).unwrap();
            assert!(!lock.exists(), "{text:?}");
        }
        let target = folder.path().join("target");
        fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, &lock).unwrap();

        remove(&socket).unwrap();

        assert!(fs::symlink_metadata(&lock).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }

    #[test]
    fn nothing_to_remove_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        remove(&folder.path().join(".s.PGSQL.5432")).unwrap();
    }
}
