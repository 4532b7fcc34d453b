//! Where tests keep their databases.

use std::path::{Path, PathBuf};

/// Memory where there is room for so many bytes, else the temporary folder. On a disk each new database
/// is synced, and its hundreds of files wait for places that were not given up a moment ago.
pub fn folder_with_room(bytes: u64) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |disk| disk.f_bavail * disk.f_frsize);
    if free > bytes {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}
