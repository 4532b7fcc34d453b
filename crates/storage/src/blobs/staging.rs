//! Blobs that grow over several requests (storage contract §14.5).
//!
//! How much of one counts is said by the database, and by nothing here: whoever goes on names the
//! number of bytes that stand, and what the store has beyond them is overwritten. A store of parts
//! keeps the same rule with whole parts and a remainder.

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
}

impl Appender {
    /// Takes the next bytes; waits while the store is behind.
    pub(crate) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        match self {
            Self::Local(writer) => writer.write(bytes).await,
        }
    }

    /// No more for now: what was taken is safe once this returns.
    pub(crate) async fn pause(self) -> io::Result<Piece> {
        match self {
            Self::Local(writer) => writer.pause().await,
        }
    }
}

impl Blobs {
    /// Goes on behind the first `offset` bytes, whatever stands there; `None` if those are gone.
    /// One at a time: the caller sees to that.
    pub(crate) async fn append(
        &self,
        version: &Version,
        offset: u64,
    ) -> io::Result<Option<Appender>> {
        match self {
            Self::Local(local) => {
                let writer = local.append(version, offset).await?;
                Ok(writer.map(Appender::Local))
            }
        }
    }

    /// Whether the first `offset` bytes of a growing blob are there.
    pub(crate) async fn has_staged(&self, version: &Version, offset: u64) -> io::Result<bool> {
        match self {
            Self::Local(local) => local.has_staged(version, offset).await,
        }
    }

    /// A blob that grew is whole: from now on it is one like any other. May be said twice.
    pub(crate) async fn assemble(&self, version: &Version) -> io::Result<()> {
        match self {
            Self::Local(local) => local.assemble(version).await,
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
            make_parents(&whole)?;
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
            make_parents(staging)?;
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

    struct Store {
        blobs: Blobs,
        version: Version,
        folder: std::path::PathBuf,
    }

    impl Store {
        fn new() -> Self {
            let version = Version::generate();
            let folder = std::env::temp_dir().join(format!("plinth-staging-{version}"));
            let blobs = Blobs::Local(LocalBlobs::new(folder.clone(), true));
            Self {
                blobs,
                version,
                folder,
            }
        }

        async fn add(&self, offset: u64, bytes: &'static str) -> Option<Piece> {
            let appender = self.blobs.append(&self.version, offset).await;
            let mut appender = appender.expect("opened")?;
            appender.write(Bytes::from(bytes)).await.expect("written");
            Some(appender.pause().await.expect("safe"))
        }

        async fn content(&self) -> Option<Bytes> {
            let body = self.blobs.read(&self.version, 0..7).await.expect("read")?;
            Some(body.collect().await.expect("bytes").to_bytes())
        }
    }

    impl Drop for Store {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.folder);
        }
    }

    #[tokio::test]
    async fn a_blob_grows_and_is_seen_once_it_is_whole() {
        let store = Store::new();

        assert_eq!(store.add(0, "abcd").await.map(|piece| piece.size), Some(4));
        assert_eq!(store.add(4, "efg").await.map(|piece| piece.size), Some(3));
        assert_eq!(store.content().await, None);

        store.blobs.assemble(&store.version).await.expect("whole");
        store.blobs.assemble(&store.version).await.expect("again");
        assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
    }

    #[tokio::test]
    async fn bytes_that_do_not_count_are_overwritten() {
        let store = Store::new();
        store.add(0, "abcd-lost-in-a-crash").await.expect("a piece");

        store.add(4, "efg").await.expect("a piece");

        store.blobs.assemble(&store.version).await.expect("whole");
        assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
    }

    #[tokio::test]
    async fn a_whole_blob_that_became_no_object_takes_its_last_piece_again() {
        let store = Store::new();
        store.add(0, "abcdXYZ").await.expect("a piece");
        store.blobs.assemble(&store.version).await.expect("whole");

        store.add(4, "efg").await.expect("a piece");
        assert_eq!(store.content().await, None);

        store.blobs.assemble(&store.version).await.expect("whole");
        assert_eq!(store.content().await.as_deref(), Some(&b"abcdefg"[..]));
    }

    #[tokio::test]
    async fn missing_bytes_are_noticed() {
        let store = Store::new();
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
