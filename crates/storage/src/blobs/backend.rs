//! The blobs of one project, in whichever backend the installation has.
//!
//! Both backends behave alike; `local` and `s3` implement the same methods.

use std::{io, ops::Range, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

use super::{
    local::{LocalBlobs, LocalWriter},
    model::{Removal, StoredBlob, WrittenBlob, WrittenChunk},
    s3::{S3Appender, S3Blobs, S3Writer},
    version::Version,
};

/// The blobs of one project. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Blobs {
    Local(LocalBlobs),
    S3(S3Blobs),
}

impl Blobs {
    /// Starts a blob of at most `max_size` bytes. It cannot be read before it is finished.
    pub(crate) async fn create(&self, version: &Version, max_size: u64) -> io::Result<BlobWriter> {
        match self {
            Self::Local(local) => Ok(BlobWriter::Local(local.create(version))),
            Self::S3(s3) => Ok(BlobWriter::S3(Box::new(s3.create(version, max_size)))),
        }
    }

    /// A range of its bytes; `None` if there is no such blob, or if it is shorter.
    pub(crate) async fn read(
        &self,
        version: &Version,
        range: Range<u64>,
    ) -> io::Result<Option<Body>> {
        match self {
            Self::Local(local) => local.read(version, range).await,
            Self::S3(s3) => s3.read(version, range).await,
        }
    }

    /// Its size in bytes; `None` if there is no such blob.
    pub(crate) async fn size(&self, version: &Version) -> io::Result<Option<u64>> {
        match self {
            Self::Local(local) => local.size(version).await,
            Self::S3(s3) => s3.size(version).await,
        }
    }

    /// Copies a blob; `false` if there is none to copy.
    pub(crate) async fn copy(&self, from: &Version, to: &Version) -> io::Result<bool> {
        match self {
            Self::Local(local) => local.copy(from, to).await,
            Self::S3(s3) => s3.copy(from, to).await,
        }
    }

    /// Copies a blob from another project in the same store; `false` if that has none.
    pub(crate) async fn import(&self, from: &Self, version: &Version) -> io::Result<bool> {
        match (self, from) {
            (Self::Local(local), Self::Local(from)) => local.import(from, version).await,
            (Self::S3(s3), Self::S3(from)) => s3.import(from, version).await,
            _ => Err(io::Error::other("the projects have different blob stores")),
        }
    }

    /// Makes one blob of several, in their order, whose sizes add up to `size`. Gives the size of
    /// the result, or `None` if one of them is missing.
    pub(crate) async fn concatenate(
        &self,
        parts: &[Version],
        to: &Version,
        size: u64,
    ) -> io::Result<Option<u64>> {
        match self {
            Self::Local(local) => local.concatenate(parts, to).await,
            Self::S3(s3) => s3.concatenate(parts, to, size).await,
        }
    }

    /// Removes unfinished blobs of single requests that nothing has written to for `age`.
    pub(crate) async fn remove_stale_uploads(&self, age: Duration) -> io::Result<()> {
        match self {
            Self::Local(local) => local.remove_stale_uploads(age).await,
            Self::S3(s3) => s3.remove_stale_uploads(age).await,
        }
    }

    /// Removes a blob in whatever state. That there is none is no failure.
    pub(crate) async fn remove(&self, version: &Version) -> io::Result<()> {
        match self {
            Self::Local(local) => local.remove(version).await,
            Self::S3(s3) => s3.remove(version).await,
        }
    }

    /// Removes several, up to the first failure. That there is no such blob is no failure.
    pub(crate) async fn remove_all(&self, versions: &[Version]) -> Removal {
        match self {
            Self::Local(local) => local.remove_all(versions).await,
            Self::S3(s3) => s3.remove_all(versions).await,
        }
    }

    /// Lists all blobs of the store in constant memory, in whatever state.
    ///
    /// A blob that is listed was there at some moment while the list was made. Uploads and garbage
    /// collection continue meanwhile, so it must be looked up again before anything is concluded.
    pub(crate) fn inventory(&self) -> impl Stream<Item = io::Result<StoredBlob>> + Send {
        match self {
            Self::Local(local) => local.inventory().boxed(),
            Self::S3(s3) => s3.inventory().boxed(),
        }
    }

    /// Whether a blob that was listed is still there.
    pub(crate) async fn still_exists(&self, stored: &StoredBlob) -> io::Result<bool> {
        match self {
            Self::Local(local) => local.still_exists(stored).await,
            Self::S3(s3) => s3.still_exists(stored).await,
        }
    }

    /// Whether another installation may keep its blobs in the same place.
    pub(crate) fn may_be_shared(&self) -> bool {
        matches!(self, Self::S3(_))
    }
}

/// Blobs that grow over several requests (storage contract §14.5).
///
/// How many of their bytes count is said by the database alone: who continues names that offset,
/// and what the store has beyond it is overwritten.
impl Blobs {
    /// Continues a blob behind its first `offset` bytes; `None` if the store does not have those.
    /// In the end it will have at most `max_size` bytes. The caller sees to it that there is one
    /// appender at a time.
    pub(crate) async fn append(
        &self,
        version: &Version,
        offset: u64,
        max_size: u64,
    ) -> io::Result<Option<BlobAppender>> {
        match self {
            Self::Local(local) => {
                let writer = local.append(version, offset).await?;
                Ok(writer.map(BlobAppender::Local))
            }
            Self::S3(s3) => {
                let appender = s3.append(version, offset, max_size).await?;
                Ok(appender.map(|appender| BlobAppender::S3(Box::new(appender))))
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

    /// Makes a grown blob, which has all its bytes now, a complete one. May be repeated.
    pub(crate) async fn assemble(&self, version: &Version, size: u64) -> io::Result<()> {
        match self {
            Self::Local(local) => local.assemble(version).await,
            Self::S3(s3) => s3.assemble(version, size).await,
        }
    }
}

/// Writes a blob. Dropped unfinished, it leaves none.
pub(crate) enum BlobWriter {
    Local(LocalWriter),
    S3(Box<S3Writer>),
}

impl BlobWriter {
    /// Takes the next bytes; waits while the store is behind.
    pub(crate) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        match self {
            Self::Local(writer) => writer.write(bytes).await,
            Self::S3(writer) => writer.write(bytes).await,
        }
    }

    /// Completes the blob: it is durable once this returns.
    pub(crate) async fn finish(self) -> io::Result<WrittenBlob> {
        match self {
            Self::Local(writer) => writer.finish().await,
            Self::S3(writer) => writer.finish().await,
        }
    }
}

/// Appends to a growing blob. Dropped unclosed, it leaves the blob with more bytes than count.
pub(crate) enum BlobAppender {
    Local(LocalWriter),
    S3(Box<S3Appender>),
}

impl BlobAppender {
    /// Takes the next bytes; waits while the store is behind.
    pub(crate) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        match self {
            Self::Local(writer) => writer.write(bytes).await,
            Self::S3(appender) => appender.write(bytes).await,
        }
    }

    /// Completes the chunk of this request: its bytes are durable once this returns.
    pub(crate) async fn close(self) -> io::Result<WrittenChunk> {
        match self {
            Self::Local(writer) => writer.close().await,
            Self::S3(appender) => appender.close().await,
        }
    }
}

#[cfg(test)]
mod tests;
