//! Blobs as files of this machine.
//!
//! ```text
//! <root>/tmp/<version>                a single request is writing it
//! <root>/resumable/<version>          it grows over several requests (`staging.rs`)
//! <root>/blobs/ab/cd/<version>        complete, synced, never changed again
//! ```
//!
//! A file is written to `tmp`, synced, renamed into place, and the folder synced: every file in
//! `blobs` is complete. File I/O runs on blocking threads, in large chunks.

mod file;
mod inventory;
mod reader;
mod sink;
mod staging;
mod worker;
mod writer;

use std::{fs, io, ops::Range, path::PathBuf, sync::Arc, time::Duration};

use axum::body::Body;
use tokio::task::spawn_blocking;

use super::{
    model::{BlobState, Removal},
    version::Version,
};
use file::{concatenate, copy_unlinkable, create_parents, remove_file, sync_parent};
use reader::{Content, open_range};
pub(crate) use writer::LocalWriter;

/// A folder of blobs. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LocalBlobs(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    /// Whether a blob counts as stored only once it is on disk.
    fsync: bool,
}

impl LocalBlobs {
    /// Blobs below `root`, which is created with the first one.
    pub(crate) fn new(root: PathBuf, fsync: bool) -> Self {
        Self(Arc::new(Folder { root, fsync }))
    }

    pub(super) fn create(&self, version: &Version) -> LocalWriter {
        LocalWriter::new(self.temporary(version), self.path(version), self.fsync())
    }

    pub(super) async fn read(
        &self,
        version: &Version,
        range: Range<u64>,
    ) -> io::Result<Option<Body>> {
        let path = self.path(version);
        let opened = spawn_blocking(move || open_range(&path, range)).await;
        match opened.map_err(io::Error::other)? {
            Ok(Content::Buffered(bytes)) => Ok(Some(Body::from(bytes))),
            Ok(Content::Streamed(reader)) => Ok(Some(reader.into_body())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn size(&self, version: &Version) -> io::Result<Option<u64>> {
        let path = self.path(version);
        let found = spawn_blocking(move || fs::metadata(path)).await;
        match found.map_err(io::Error::other)? {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn copy(&self, from: &Version, to: &Version) -> io::Result<bool> {
        self.link(self.path(from), to).await
    }

    pub(super) async fn import(&self, from: &Self, version: &Version) -> io::Result<bool> {
        self.link(from.path(version), version).await
    }

    /// Blobs never change, so a copy can be a hard link.
    async fn link(&self, from: PathBuf, to: &Version) -> io::Result<bool> {
        let (temporary, fsync) = (self.temporary(to), self.0.fsync);
        let to = self.path(to);
        let copied = spawn_blocking(move || {
            create_parents(&to, fsync)?;
            match fs::hard_link(&from, &to) {
                Ok(()) => sync_parent(&to, fsync),
                Err(error) => copy_unlinkable(error, from, &to, temporary, fsync),
            }
        });
        match copied.await.map_err(io::Error::other)? {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn concatenate(
        &self,
        parts: &[Version],
        to: &Version,
    ) -> io::Result<Option<u64>> {
        let parts: Vec<_> = parts.iter().map(|part| self.path(part)).collect();
        let (temporary, path, fsync) = (self.temporary(to), self.path(to), self.0.fsync);
        let joined = spawn_blocking(move || concatenate(parts, &path, temporary, fsync)).await;
        match joined.map_err(io::Error::other)? {
            Ok(size) => Ok(Some(size)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn remove_all(&self, versions: &[Version]) -> Removal {
        let mut removal = Removal::default();
        for version in versions {
            match self.remove(version).await {
                Ok(()) => removal.removed.push(*version),
                Err(error) => {
                    removal.failure = Some((*version, error));
                    break;
                }
            }
        }
        removal
    }

    pub(super) async fn remove(&self, version: &Version) -> io::Result<()> {
        let paths = [
            self.path(version),
            self.temporary(version),
            self.staging(version),
        ];
        let removed = spawn_blocking(move || paths.iter().try_for_each(|path| remove_file(path)));
        removed.await.map_err(io::Error::other)?
    }

    pub(super) async fn remove_stale_uploads(&self, age: Duration) -> io::Result<()> {
        let folder = self.folder_of(BlobState::InFlight);
        let removed = spawn_blocking(move || {
            if !folder.is_dir() {
                return Ok(());
            }
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                // A file that is gone by now was completed.
                let modified = entry.metadata().and_then(|file| file.modified());
                if modified.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed > age)) {
                    remove_file(&entry.path())?;
                }
            }
            Ok(())
        });
        removed.await.map_err(io::Error::other)?
    }

    fn fsync(&self) -> bool {
        self.0.fsync
    }

    /// Where the blob is once it is complete.
    pub(super) fn path(&self, version: &Version) -> PathBuf {
        let [first, second] = version.folders();
        let folder = self.folder_of(BlobState::Complete).join(first).join(second);
        folder.join(version.to_string())
    }

    fn temporary(&self, version: &Version) -> PathBuf {
        self.folder_of(BlobState::InFlight)
            .join(version.to_string())
    }

    /// Where a resumable upload grows.
    pub(super) fn staging(&self, version: &Version) -> PathBuf {
        self.folder_of(BlobState::Resumable)
            .join(version.to_string())
    }

    /// The folder of all blobs in that state.
    pub(super) fn folder_of(&self, state: BlobState) -> PathBuf {
        self.0.root.join(match state {
            BlobState::Complete => "blobs",
            BlobState::Resumable => "resumable",
            BlobState::InFlight => "tmp",
        })
    }

    fn path_in(&self, state: BlobState, version: &Version) -> PathBuf {
        match state {
            BlobState::Complete => self.path(version),
            BlobState::Resumable => self.staging(version),
            BlobState::InFlight => self.temporary(version),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    async fn blob(blobs: &LocalBlobs, bytes: &'static [u8]) -> Version {
        let version = Version::generate();
        let mut writer = blobs.create(&version);
        writer
            .write(Bytes::from_static(bytes))
            .await
            .expect("taken");
        writer.finish().await.expect("finished");
        version
    }

    #[tokio::test]
    async fn parts_become_one_blob_in_their_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), true);
        let one = blob(&blobs, b"one ").await;
        let two = blob(&blobs, b"two").await;
        let whole = Version::generate();

        let size = blobs
            .concatenate(&[one, two], &whole)
            .await
            .expect("joined");

        assert_eq!(size, Some(7));
        let found = fs::read(blobs.path(&whole)).expect("a file");
        assert_eq!(found, b"one two");
        assert_eq!(fs::read(blobs.path(&one)).expect("kept"), b"one ");
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_linked_is_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), true);
        let source = blob(&blobs, b"one").await;
        let copy = Version::generate();
        let (from, to, temporary) = (
            blobs.path(&source),
            blobs.path(&copy),
            blobs.temporary(&copy),
        );

        let error = io::ErrorKind::TooManyLinks.into();
        copy_unlinkable(error, from.clone(), &to, temporary.clone(), true).expect("copied");
        assert_eq!(fs::read(&to).expect("a file"), b"one");

        let gone = io::ErrorKind::NotFound.into();
        assert!(copy_unlinkable(gone, from, &to, temporary, true).is_err());
    }

    #[tokio::test]
    async fn a_blob_with_a_missing_part_is_not_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), false);
        let one = blob(&blobs, b"one").await;
        let whole = Version::generate();

        let joined = blobs.concatenate(&[one, Version::generate()], &whole).await;

        assert_eq!(joined.expect("no failure"), None);
        assert!(!blobs.path(&whole).exists() && !blobs.temporary(&whole).exists());
    }
}
