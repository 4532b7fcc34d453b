//! Blobs as objects in a bucket of an S3 store.
//!
//! ```text
//! <prefix>/<project>/blobs/ab/cd/<version>                 complete, never changed again
//! <prefix>/<project>/unfinished/<version>/upload.<uuid>    id of a multipart upload into that blob
//! <prefix>/<project>/unfinished/<version>/at.<offset>      how far a growing blob is (`growing.rs`)
//! ```
//!
//! Whatever is longer than a part arrives as a multipart upload. Its parts are seen by nobody, not
//! even in lists; so its id is noted beside the blobs before the first part is sent, and whoever
//! cleans up finds it there. That needs nothing but what every S3 store can do.

mod connect;
mod failure;
mod growing;
mod inventory;
mod note;
mod parts;
mod remove;
mod unfinished;
mod writer;

use std::{fmt, io, ops::Range, sync::Arc};

use axum::body::Body;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{
    Error, GetOptions, GetRange, ObjectStore as _, ObjectStoreExt as _, PutPayload, aws::AmazonS3,
    path::Path,
};
use tokio_util::task::TaskTracker;

pub use connect::{S3Store, S3StoreConfig, StoreProblem};
pub(crate) use growing::S3Appender;
pub(crate) use writer::S3Writer;

use super::{Version, Written};
use failure::failure;

/// The longest object that a store copies by itself: what Amazon allows.
const LONGEST_COPY: u64 = 5 * 1024 * 1024 * 1024;

/// The blobs of one project in a bucket. Cheap to clone.
#[derive(Clone)]
pub(crate) struct S3Blobs(Arc<Shelf>);

struct Shelf {
    store: S3Store,
    /// Of everything that the project has.
    prefix: String,
    longest_copy: u64,
    /// What must be done although nobody waits for it.
    tasks: TaskTracker,
}

impl S3Blobs {
    pub(crate) fn new(store: S3Store, project: &str, tasks: TaskTracker) -> Self {
        let prefix = match store.prefix() {
            "" => project.to_owned(),
            prefix => format!("{prefix}/{project}"),
        };
        Self(Arc::new(Shelf {
            store,
            prefix,
            longest_copy: LONGEST_COPY,
            tasks,
        }))
    }

    /// A blob of at most so many bytes.
    pub(super) fn create(&self, version: &Version, at_most: u64) -> S3Writer {
        let part_size = self.0.store.part_size(at_most);
        S3Writer::new(self.clone(), *version, part_size)
    }

    pub(super) async fn read(
        &self,
        version: &Version,
        range: Range<u64>,
    ) -> io::Result<Option<Body>> {
        if range.is_empty() {
            let size = self.size(version).await?;
            return Ok(size
                .filter(|size| *size >= range.end)
                .map(|_| Body::empty()));
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let found = match self.client().get_opts(&self.path(version), options).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            // Stores say in different ways that a range begins behind the end.
            Err(error) => match self.size(version).await {
                Ok(size) if size.is_none_or(|size| size < range.end) => return Ok(None),
                _ => return Err(failure(error)),
            },
        };
        // A user's SQL may claim more than there is.
        if found.meta.size < range.end {
            return Ok(None);
        }
        Ok(Some(Body::from_stream(
            found.into_stream().map_err(failure),
        )))
    }

    pub(super) async fn size(&self, version: &Version) -> io::Result<Option<u64>> {
        match self.client().head(&self.path(version)).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failure(error)),
        }
    }

    /// The store copies by itself what is not too long for that.
    pub(super) async fn copy(&self, from: &Version, to: &Version) -> io::Result<bool> {
        self.copy_from(self, from, to).await
    }

    pub(super) async fn import(&self, from: &Self, version: &Version) -> io::Result<bool> {
        self.copy_from(from, version, version).await
    }

    async fn copy_from(&self, other: &Self, from: &Version, to: &Version) -> io::Result<bool> {
        let Some(size) = other.size(from).await? else {
            return Ok(false);
        };
        let source = other.path(from);
        if size > self.0.longest_copy {
            return Ok(self.join_objects(&[source], to, size).await?.is_some());
        }
        match self.client().copy(&source, &self.path(to)).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(failure(error)),
        }
    }

    /// The bytes come through this process, a few parts at a time.
    pub(super) async fn join(
        &self,
        parts: &[Version],
        to: &Version,
        size: u64,
    ) -> io::Result<Option<u64>> {
        let parts: Vec<_> = parts.iter().map(|part| self.path(part)).collect();
        self.join_objects(&parts, to, size).await
    }

    async fn join_objects(
        &self,
        parts: &[Path],
        to: &Version,
        size: u64,
    ) -> io::Result<Option<u64>> {
        let mut whole = self.create(to, size);
        for part in parts {
            let found = match self.client().get(part).await {
                Ok(found) => found,
                Err(Error::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(failure(error)),
            };
            let mut bytes = found.into_stream();
            while let Some(piece) = bytes.next().await {
                whole.write(piece.map_err(failure)?).await?;
            }
        }
        let Written { size, .. } = whole.finish().await?;
        Ok(Some(size))
    }

    async fn put(&self, path: &Path, bytes: PutPayload) -> io::Result<()> {
        self.client().put(path, bytes).await.map_err(failure)?;
        Ok(())
    }

    async fn delete(&self, path: &Path) -> io::Result<()> {
        match self.client().delete(path).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failure(error)),
        }
    }

    fn client(&self) -> &AmazonS3 {
        self.0.store.client()
    }

    /// Where the blob is once it is whole.
    fn path(&self, version: &Version) -> Path {
        let [first, second] = version.folders();
        let prefix = &self.0.prefix;
        Path::from(format!("{prefix}/blobs/{first}/{second}/{version}"))
    }
}

impl fmt::Debug for S3Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("S3Blobs").field(&self.0.prefix).finish()
    }
}

#[cfg(test)]
pub(in crate::blobs) mod tests;
