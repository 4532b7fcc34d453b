//! Where the bytes are. A blob is known by its version and by nothing else: names, types and rights
//! are rows in Postgres (storage contract §14.1).
//!
//! A blob belongs to one row and never changes. Whoever writes one first puts its version into the
//! ledger (`ledger.rs`), so that after a crash at any point each blob is still reachable from a row,
//! from the list of pending ones or from the list of those to be removed.

mod inventory;
mod ledger;
mod local;
mod receive;
mod s3;
mod staging;
mod sweep;
mod version;

use std::{io, ops::Range, time::Duration};

use axum::body::Body;

pub(crate) use inventory::{Place, Stored};
pub(crate) use ledger::{announce, withdraw};
pub(crate) use local::{LocalBlobs, LocalWriter};
pub(crate) use receive::{Source, discard, receive};
#[cfg(test)]
pub(crate) use s3::tests::Stage as StoreStage;
pub(crate) use s3::{S3Blobs, S3Writer};
pub use s3::{S3Store, S3StoreConfig, StoreProblem};
pub(crate) use staging::Piece;
pub(crate) use sweep::{Patience, RELEASED_AFTER, sweep};
pub(crate) use version::Version;

/// What is known of bytes that were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) size: u64,
    /// In hexadecimal digits.
    pub(crate) md5: String,
}

/// The blobs of one project. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Blobs {
    Local(LocalBlobs),
    S3(S3Blobs),
}

impl Blobs {
    /// Begins a blob of that version and at most so many bytes. Nobody sees it before it is
    /// finished.
    pub(crate) async fn create(&self, version: &Version, at_most: u64) -> io::Result<BlobWriter> {
        match self {
            Self::Local(local) => Ok(BlobWriter::Local(local.create(version))),
            Self::S3(s3) => Ok(BlobWriter::S3(Box::new(s3.create(version, at_most)))),
        }
    }

    /// Its bytes, or some of them; `None` if there is no such blob, or if it has fewer.
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

    /// How many bytes it has; `None` if there is no such blob.
    pub(crate) async fn size(&self, version: &Version) -> io::Result<Option<u64>> {
        match self {
            Self::Local(local) => local.size(version).await,
            Self::S3(s3) => s3.size(version).await,
        }
    }

    /// Another blob with the same bytes; `false` if there is nothing to copy.
    pub(crate) async fn copy(&self, from: &Version, to: &Version) -> io::Result<bool> {
        match self {
            Self::Local(local) => local.copy(from, to).await,
            Self::S3(s3) => s3.copy(from, to).await,
        }
    }

    /// Takes over a blob of another project in the same store; `false` if that has none.
    pub(crate) async fn import(&self, from: &Self, version: &Version) -> io::Result<bool> {
        match (self, from) {
            (Self::Local(local), Self::Local(from)) => local.import(from, version).await,
            (Self::S3(s3), Self::S3(from)) => s3.import(from, version).await,
            _ => Err(io::Error::other("the projects have different stores")),
        }
    }

    /// A blob with the bytes of several, in their order, which should be `size`; how many there are,
    /// or `None` if one of them is missing.
    pub(crate) async fn join(
        &self,
        parts: &[Version],
        to: &Version,
        size: u64,
    ) -> io::Result<Option<u64>> {
        match self {
            Self::Local(local) => local.join(parts, to).await,
            Self::S3(s3) => s3.join(parts, to, size).await,
        }
    }

    /// Removes what was left half-written so long ago that nobody writes it any more.
    pub(crate) async fn forget_unfinished(&self, age: Duration) -> io::Result<()> {
        match self {
            Self::Local(local) => local.forget_unfinished(age).await,
            Self::S3(s3) => s3.forget_unfinished(age).await,
        }
    }

    /// Removes it. That it is gone already is no failure.
    pub(crate) async fn remove(&self, version: &Version) -> io::Result<()> {
        match self {
            Self::Local(local) => local.remove(version).await,
            Self::S3(s3) => s3.remove(version).await,
        }
    }

    /// Removes them, as far as the store lets itself be asked. That one is gone already is no
    /// failure.
    pub(crate) async fn remove_all(&self, versions: &[Version]) -> Removal {
        match self {
            Self::Local(local) => local.remove_all(versions).await,
            Self::S3(s3) => s3.remove_all(versions).await,
        }
    }
}

/// What became of blobs that were to be removed. After a failure the others are not tried: a store
/// that is down is not asked a hundred times.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    pub(crate) gone: Vec<Version>,
    pub(crate) failure: Option<(Version, io::Error)>,
}

/// A blob on its way in. Dropped, it never was.
pub(crate) enum BlobWriter {
    Local(LocalWriter),
    S3(Box<S3Writer>),
}

impl BlobWriter {
    /// Takes the next bytes; waits while the store is behind.
    pub(crate) async fn write(&mut self, bytes: bytes::Bytes) -> io::Result<()> {
        match self {
            Self::Local(writer) => writer.write(bytes).await,
            Self::S3(writer) => writer.write(bytes).await,
        }
    }

    /// The bytes are complete: they are safe once this returns.
    pub(crate) async fn finish(self) -> io::Result<Written> {
        match self {
            Self::Local(writer) => writer.finish().await,
            Self::S3(writer) => writer.finish().await,
        }
    }
}
