//! Blobs as files of this machine.
//!
//! ```text
//! <root>/tmp/<version>                bytes that are still arriving
//! <root>/resumable/<version>          those of an upload over several requests (`staging.rs`)
//! <root>/blobs/ab/cd/<version>        complete, synced, never changed again
//! ```
//!
//! A file is written to `tmp`, synced, renamed into place, and the folder synced: whatever is seen
//! in `blobs` is whole. File work is done on blocking threads, in large pieces.

mod file;
mod reader;
mod sink;
mod worker;
mod writer;

use std::{fs, io, ops::Range, path::PathBuf, sync::Arc, time::Duration};

use axum::body::Body;
use tokio::task::spawn_blocking;

use super::{Place, Removal, Version};
use file::{copy_instead, join, remove_file};
pub(super) use file::{make_parents, sync_parent};
use reader::{Opened, open_at};
pub(crate) use writer::LocalWriter;

/// A folder of blobs. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LocalBlobs(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    /// Whether a blob counts as stored only once the disk has it.
    syncs: bool,
}

impl LocalBlobs {
    /// Blobs below `root`, which is made when the first one comes.
    pub(crate) fn new(root: PathBuf, syncs: bool) -> Self {
        Self(Arc::new(Folder { root, syncs }))
    }

    pub(super) fn create(&self, version: &Version) -> LocalWriter {
        LocalWriter::new(self.clone(), *version)
    }

    pub(super) async fn read(
        &self,
        version: &Version,
        range: Range<u64>,
    ) -> io::Result<Option<Body>> {
        let path = self.path(version);
        let opened = spawn_blocking(move || open_at(&path, range)).await;
        match opened.map_err(io::Error::other)? {
            Ok(Opened::Whole(bytes)) => Ok(Some(Body::from(bytes))),
            Ok(Opened::Rest(reader)) => Ok(Some(reader.into_body())),
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

    /// Bytes never change, so a blob may be another name of them.
    async fn link(&self, from: PathBuf, to: &Version) -> io::Result<bool> {
        let (temporary, syncs) = (self.temporary(to), self.0.syncs);
        let to = self.path(to);
        let copied = spawn_blocking(move || {
            make_parents(&to, syncs)?;
            match fs::hard_link(&from, &to) {
                Ok(()) => sync_parent(&to, syncs),
                Err(error) => copy_instead(error, from, &to, temporary, syncs),
            }
        });
        match copied.await.map_err(io::Error::other)? {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn join(&self, parts: &[Version], to: &Version) -> io::Result<Option<u64>> {
        let parts: Vec<_> = parts.iter().map(|part| self.path(part)).collect();
        let (temporary, path, syncs) = (self.temporary(to), self.path(to), self.0.syncs);
        let joined = spawn_blocking(move || join(parts, &path, temporary, syncs)).await;
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
                Ok(()) => removal.gone.push(*version),
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

    pub(super) async fn forget_unfinished(&self, age: Duration) -> io::Result<()> {
        let folder = self.folder_of(Place::Unfinished);
        let forgotten = spawn_blocking(move || {
            if !folder.is_dir() {
                return Ok(());
            }
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                // One that is not there any more has become a blob.
                let modified = entry.metadata().and_then(|file| file.modified());
                if modified.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed > age)) {
                    remove_file(&entry.path())?;
                }
            }
            Ok(())
        });
        forgotten.await.map_err(io::Error::other)?
    }

    pub(super) fn syncs(&self) -> bool {
        self.0.syncs
    }

    /// Where the blob is once it is whole.
    pub(super) fn path(&self, version: &Version) -> PathBuf {
        let [first, second] = version.folders();
        let folder = self.folder_of(Place::Whole).join(first).join(second);
        folder.join(version.to_string())
    }

    fn temporary(&self, version: &Version) -> PathBuf {
        self.folder_of(Place::Unfinished).join(version.to_string())
    }

    /// Where an upload over several requests grows.
    pub(super) fn staging(&self, version: &Version) -> PathBuf {
        self.folder_of(Place::Growing).join(version.to_string())
    }

    /// The folder of all bytes that have come so far.
    pub(super) fn folder_of(&self, place: Place) -> PathBuf {
        self.0.root.join(match place {
            Place::Whole => "blobs",
            Place::Growing => "resumable",
            Place::Unfinished => "tmp",
        })
    }

    pub(super) fn path_at(&self, place: Place, version: &Version) -> PathBuf {
        match place {
            Place::Whole => self.path(version),
            Place::Growing => self.staging(version),
            Place::Unfinished => self.temporary(version),
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
        writer.finish().await.expect("settled");
        version
    }

    #[tokio::test]
    async fn parts_become_one_blob_in_their_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), true);
        let one = blob(&blobs, b"one ").await;
        let two = blob(&blobs, b"two").await;
        let whole = Version::generate();

        let size = blobs.join(&[one, two], &whole).await.expect("joined");

        assert_eq!(size, Some(7));
        let found = fs::read(blobs.path(&whole)).expect("a file");
        assert_eq!(found, b"one two");
        assert_eq!(fs::read(blobs.path(&one)).expect("kept"), b"one ");
    }

    #[tokio::test]
    async fn a_file_that_can_have_no_further_name_is_copied() {
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
        copy_instead(error, from.clone(), &to, temporary.clone(), true).expect("copied");
        assert_eq!(fs::read(&to).expect("a file"), b"one");

        let gone = io::ErrorKind::NotFound.into();
        assert!(copy_instead(gone, from, &to, temporary, true).is_err());
    }

    #[tokio::test]
    async fn what_lacks_a_part_is_no_blob() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), false);
        let one = blob(&blobs, b"one").await;
        let whole = Version::generate();

        let joined = blobs.join(&[one, Version::generate()], &whole).await;

        assert_eq!(joined.expect("no failure"), None);
        assert!(!blobs.path(&whole).exists() && !blobs.temporary(&whole).exists());
    }
}
