//! Blobs that grow over several requests (storage contract §14.5).
//!
//! How much of one counts is said by the database, and by nothing here: whoever goes on names the
//! number of bytes that stand, and what the store has beyond them is overwritten. An S3 store keeps
//! the same rule with whole parts and a remainder (`s3/growing.rs`).

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::{
    Blobs, LocalBlobs, LocalWriter, Version,
    local::{make_parents, sync_parent},
    s3::S3Appender,
};

/// What one request has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) size: u64,
    pub(crate) md5: [u8; 16],
}

/// A blob that takes more bytes. Dropped, it keeps what it had, and more bytes that do not count.
pub(crate) enum Appender {
    Local(LocalWriter),
    S3(Box<S3Appender>),
}

impl Appender {
    /// Takes the next bytes; waits while the store is behind.
    pub(crate) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        match self {
            Self::Local(writer) => writer.write(bytes).await,
            Self::S3(appender) => appender.write(bytes).await,
        }
    }

    /// No more for now: what was taken is safe once this returns.
    pub(crate) async fn pause(self) -> io::Result<Piece> {
        match self {
            Self::Local(writer) => writer.pause().await,
            Self::S3(appender) => appender.pause().await,
        }
    }
}

impl Blobs {
    /// Goes on behind the first `offset` bytes, whatever stands there; `None` if those are gone. In
    /// the end there will be at most so many. One at a time: the caller sees to that.
    pub(crate) async fn append(
        &self,
        version: &Version,
        offset: u64,
        at_most: u64,
    ) -> io::Result<Option<Appender>> {
        match self {
            Self::Local(local) => {
                let writer = local.append(version, offset).await?;
                Ok(writer.map(Appender::Local))
            }
            Self::S3(s3) => {
                let appender = s3.append(version, offset, at_most).await?;
                Ok(appender.map(|appender| Appender::S3(Box::new(appender))))
            }
        }
    }

    /// Whether the first `offset` bytes of a growing blob are there.
    pub(crate) async fn has_staged(&self, version: &Version, offset: u64) -> io::Result<bool> {
        match self {
            Self::Local(local) => local.has_staged(version, offset).await,
            Self::S3(s3) => s3.has_staged(version, offset).await,
        }
    }

    /// A blob that grew has all its bytes: from now on it is one like any other. May be said twice.
    pub(crate) async fn assemble(&self, version: &Version, size: u64) -> io::Result<()> {
        match self {
            Self::Local(local) => local.assemble(version).await,
            Self::S3(s3) => s3.assemble(version, size).await,
        }
    }
}

impl LocalBlobs {
    async fn append(&self, version: &Version, offset: u64) -> io::Result<Option<LocalWriter>> {
        let (staging, whole) = (self.staging(version), self.path(version));
        let syncs = self.syncs();
        let path = staging.clone();
        let opened = spawn_blocking(move || open_behind(&staging, &whole, offset, syncs)).await;
        let file = opened.map_err(io::Error::other)??;
        Ok(file.map(|file| LocalWriter::onto(self.clone(), *version, file, path)))
    }

    async fn has_staged(&self, version: &Version, offset: u64) -> io::Result<bool> {
        let paths = [self.staging(version), self.path(version)];
        let found = spawn_blocking(move || {
            let has_enough =
                |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() >= offset);
            offset == 0 || paths.iter().any(|path| has_enough(path))
        });
        found.await.map_err(io::Error::other)
    }

    async fn assemble(&self, version: &Version) -> io::Result<()> {
        let (staging, whole, syncs) = (self.staging(version), self.path(version), self.syncs());
        let assembled = spawn_blocking(move || {
            make_parents(&whole, syncs)?;
            match fs::rename(&staging, &whole) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && whole.is_file() => Ok(()),
                Err(error) => Err(error),
                Ok(()) => sync_parent(&whole, syncs),
            }
        });
        assembled.await.map_err(io::Error::other)?
    }
}

/// The file cut to `offset` bytes, open at its end.
fn open_behind(staging: &Path, whole: &Path, offset: u64, syncs: bool) -> io::Result<Option<File>> {
    let open = || File::options().append(true).open(staging);
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_parents(staging, syncs)?;
            // It was whole already, and then became no object.
            match fs::rename(whole, staging) {
                Ok(()) => open()?,
                Err(_) if offset > 0 => return Ok(None),
                Err(_) => {
                    let mut options = File::options();
                    let file = options.append(true).create_new(true).open(staging)?;
                    sync_parent(staging, syncs)?;
                    file
                }
            }
        }
        opened => opened?,
    };
    if file.metadata()?.len() < offset {
        return Ok(None);
    }
    file.set_len(offset)?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;
    use crate::blobs::s3::tests::Stage;

    struct Store {
        blobs: Blobs,
        version: Version,
        _folder: Option<tempfile::TempDir>,
        _server: Option<Stage>,
    }

    impl Store {
        /// One of each kind: they must be alike.
        async fn each() -> [Self; 2] {
            let folder = tempfile::tempdir().expect("a folder");
            let local = LocalBlobs::new(folder.path().to_owned(), true);
            let server = Stage::start().await;
            [
                Self {
                    blobs: Blobs::Local(local),
                    version: Version::generate(),
                    _folder: Some(folder),
                    _server: None,
                },
                Self {
                    blobs: Blobs::S3(server.blobs.clone()),
                    version: Version::generate(),
                    _folder: None,
                    _server: Some(server),
                },
            ]
        }

        async fn add(&self, offset: u64, bytes: &'static str) -> Option<Piece> {
            let appender = self.blobs.append(&self.version, offset, 1000).await;
            let mut appender = appender.expect("opened")?;
            appender.write(Bytes::from(bytes)).await.expect("written");
            Some(appender.pause().await.expect("safe"))
        }

        async fn assemble(&self, size: u64) {
            let assembled = self.blobs.assemble(&self.version, size).await;
            assembled.expect("whole");
        }

        async fn content(&self) -> Option<Bytes> {
            let body = self.blobs.read(&self.version, 0..7).await.expect("read")?;
            Some(body.collect().await.expect("bytes").to_bytes())
        }
    }

    #[tokio::test]
    async fn a_blob_grows_and_is_seen_once_it_is_whole() {
        for store in Store::each().await {
            assert_eq!(store.add(0, "abcd").await.map(|piece| piece.size), Some(4));
            assert_eq!(store.add(4, "efg").await.map(|piece| piece.size), Some(3));
            assert_eq!(store.content().await, None);

            store.assemble(7).await;
            store.assemble(7).await;
            assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
        }
    }

    #[tokio::test]
    async fn a_blob_without_bytes_can_be_whole() {
        for store in Store::each().await {
            assert_eq!(store.add(0, "").await.map(|piece| piece.size), Some(0));

            store.assemble(0).await;

            let size = store.blobs.size(&store.version).await;
            assert_eq!(size.expect("told"), Some(0));
        }
    }

    #[tokio::test]
    async fn bytes_that_do_not_count_are_overwritten() {
        for store in Store::each().await {
            store.add(0, "abcd").await.expect("a piece");
            store.add(4, "-lost-in-a-crash").await.expect("a piece");

            store.add(4, "efg").await.expect("a piece");

            store.assemble(7).await;
            assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
        }
    }

    #[tokio::test]
    async fn a_whole_blob_that_became_no_object_takes_its_last_piece_again() {
        for store in Store::each().await {
            store.add(0, "abcd").await.expect("a piece");
            store.add(4, "XYZ").await.expect("a piece");
            store.assemble(7).await;

            store.add(4, "efg").await.expect("a piece");
            assert_eq!(store.content().await, None);

            store.assemble(7).await;
            assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
        }
    }

    #[tokio::test]
    async fn missing_bytes_are_noticed() {
        for store in Store::each().await {
            let has = async |offset| {
                let has = store.blobs.has_staged(&store.version, offset).await;
                has.expect("looked")
            };
            assert!(store.add(4, "efg").await.is_none());
            store.add(0, "abc").await.expect("a piece");

            assert!(store.add(4, "efg").await.is_none());
            assert!(has(3).await);
            assert!(!has(4).await);

            store.blobs.remove(&store.version).await.expect("removed");
            assert!(!has(3).await);
            assert!(has(0).await);
        }
    }
}
