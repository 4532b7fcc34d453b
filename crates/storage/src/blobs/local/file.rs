//! Files and folders that are durable: synced, and so are the folders that name them.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A file that is removed on drop unless it was persisted.
pub(super) struct TemporaryFile {
    pub(super) file: File,
    path: PathBuf,
    is_persisted: bool,
}

impl TemporaryFile {
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        let create = || File::options().write(true).create_new(true).open(&path);
        let file = create().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => create_parents(&path, false).and_then(|()| create()),
            _ => Err(error),
        })?;
        Ok(Self {
            file,
            path,
            is_persisted: false,
        })
    }

    /// A file that stays where it is, persisted or not.
    pub(super) fn keep(file: File, path: PathBuf) -> Self {
        Self {
            file,
            path,
            is_persisted: true,
        }
    }

    /// Waits until the bytes are on disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Renames the file to where it stays; durable with `fsync`.
    pub(super) fn persist(mut self, path: &Path, fsync: bool) -> io::Result<()> {
        if fsync {
            self.sync()?;
        }
        create_parents(path, fsync)?;
        fs::rename(&self.path, path)?;
        self.is_persisted = true;
        sync_parent(path, fsync)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_persisted {
            _ = fs::remove_file(&self.path);
        }
    }
}

/// Concatenates files. The kernel copies; no byte passes through this process.
pub(super) fn concatenate(
    parts: impl IntoIterator<Item = PathBuf>,
    to: &Path,
    temporary: PathBuf,
    fsync: bool,
) -> io::Result<u64> {
    let mut file = TemporaryFile::create(temporary)?;
    let mut size = 0;
    for part in parts {
        size += io::copy(&mut File::open(part)?, &mut file.file)?;
    }
    file.persist(to, fsync)?;
    Ok(size)
}

/// Copies a file that could not be hard-linked: it has too many links, or the file system has none.
pub(super) fn copy_unlinkable(
    error: io::Error,
    from: PathBuf,
    to: &Path,
    temporary: PathBuf,
    fsync: bool,
) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::StorageFull => Err(error),
        _ => concatenate([from], to, temporary, fsync).map(drop),
    }
}

/// Creates the parent folders of a file.
pub(in crate::blobs) fn create_parents(path: &Path, fsync: bool) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.is_dir() => {
            create_parents(parent, fsync)?;
            match fs::create_dir(parent) {
                // Another thread has created it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            sync_parent(parent, fsync)
        }
        _ => Ok(()),
    }
}

/// The entry of a new file or folder is durable once its parent is synced.
pub(in crate::blobs) fn sync_parent(path: &Path, fsync: bool) -> io::Result<()> {
    match path.parent() {
        Some(parent) if fsync => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
