//! Where tests keep their databases.

use std::path::{Path, PathBuf};

/// `/dev/shm` if it has this many free bytes, else the temporary folder. On a disk, syncing the hundreds
/// of files of each new database is slow.
pub fn folder_with_space(bytes: u64) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |disk| disk.f_bavail * disk.f_frsize);
    if free > bytes {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}
