//! Files and folders that no crash can undo.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A file that goes when nobody settles it.
pub(super) struct Temporary {
    pub(super) file: File,
    path: PathBuf,
    is_settled: bool,
}

impl Temporary {
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let create = || File::options().write(true).create_new(true).open(&path);
        let file = create().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => make_parents(&path, false).and_then(|()| create()),
            _ => Err(error),
        })?;
        Ok(Self {
            file,
            path,
            is_settled: false,
        })
    }

    /// One that stays where it is whether or not anybody settles it.
    pub(super) fn kept(file: File, path: PathBuf) -> Self {
        Self {
            file,
            path,
            is_settled: true,
        }
    }

    /// Waits until the disk has the bytes.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Moves the file to where it stays, so that no crash can undo it.
    pub(super) fn settle(mut self, path: &Path, syncs: bool) -> io::Result<()> {
        if syncs {
            self.sync()?;
        }
        make_parents(path, syncs)?;
        fs::rename(&self.path, path)?;
        self.is_settled = true;
        sync_parent(path, syncs)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_settled {
            _ = fs::remove_file(&self.path);
        }
    }
}

/// The kernel copies from file to file; no byte comes through this process.
pub(super) fn join(
    parts: impl IntoIterator<Item = PathBuf>,
    to: &Path,
    temporary: PathBuf,
    syncs: bool,
) -> io::Result<u64> {
    let mut whole = Temporary::create(temporary)?;
    let mut size = 0;
    for part in parts {
        size += io::copy(&mut File::open(part)?, &mut whole.file)?;
    }
    whole.settle(to, syncs)?;
    Ok(size)
}

/// For a file that cannot have one more name: it has too many, or the file system knows no links.
pub(super) fn copy_instead(
    error: io::Error,
    from: PathBuf,
    to: &Path,
    temporary: PathBuf,
    syncs: bool,
) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::StorageFull => Err(error),
        _ => join([from], to, temporary, syncs).map(drop),
    }
}

/// Makes the folders in which a file shall be.
pub(in crate::blobs) fn make_parents(path: &Path, syncs: bool) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.is_dir() => {
            make_parents(parent, syncs)?;
            match fs::create_dir(parent) {
                // Somebody else was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            sync_parent(parent, syncs)
        }
        _ => Ok(()),
    }
}

/// The name of a new file is part of its folder; so is that of a new folder.
pub(in crate::blobs) fn sync_parent(path: &Path, syncs: bool) -> io::Result<()> {
    match path.parent() {
        Some(parent) if syncs => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
