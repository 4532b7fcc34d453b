//! Checks that the disk is writable and not full before PostgreSQL starts, whose own error messages
//! are harder to understand.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::{Error, Result, plain};

const MIB: u64 = 1024 * 1024;

/// Fails with one sentence where nothing can be written into the folder.
pub(crate) fn ensure_writable(folder: &Path) -> Result<()> {
    let probe = folder.join(format!(".write-probe-{}", std::process::id()));
    let written = fs::write(&probe, [0; 4096]);
    _ = fs::remove_file(&probe);
    written.map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => Error::file("find", folder, &cause),
        _ => Error::NotWritable {
            path: folder.to_owned(),
            reason: plain(&cause),
        },
    })
}

/// Fails where the folder's disk has less than `needed_mib` left for this user.
pub(crate) fn ensure_free(folder: &Path, needed_mib: u64) -> Result<()> {
    // If statvfs fails, do not block the start.
    let Ok(disk) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free_mib = disk.f_bavail.saturating_mul(disk.f_frsize) / MIB;
    if free_mib < needed_mib {
        return Err(Error::DiskFull {
            path: folder.to_owned(),
            free_mib,
            needed_mib,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_folder_is_writable_and_stays_empty() {
        let folder = tempfile::tempdir().unwrap();

        ensure_writable(folder.path()).unwrap();

        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = ensure_writable(Path::new("/nowhere/at/all")).unwrap_err();

        assert_eq!(
            error.to_string(),
            "Cannot find /nowhere/at/all: no such file or folder."
        );
    }

    #[test]
    fn wanting_more_than_any_disk_has_is_a_full_disk() {
        let folder = tempfile::tempdir().unwrap();

        ensure_free(folder.path(), 1).unwrap();
        let error = ensure_free(folder.path(), u64::MAX).unwrap_err();

        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    }
}
