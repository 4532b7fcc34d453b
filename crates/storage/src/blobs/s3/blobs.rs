//! The blobs of one project: paths, and requests for single objects.

use std::{fmt, io, ops::Range, sync::Arc};

use axum::body::Body;
use futures_util::TryStreamExt as _;
use object_store::{
    Error, GetOptions, GetRange, ObjectStore as _, ObjectStoreExt as _, PutPayload, aws::AmazonS3,
    path::Path,
};
use tokio_util::task::TaskTracker;

use super::{connect::S3Store, error::to_io_error};
use crate::blobs::version::Version;

/// The longest object that a store copies by itself: Amazon's limit.
const MAX_COPY_BYTES: u64 = 5 * 1024 * 1024 * 1024;

/// The blobs of one project in a bucket. Cheap to clone.
#[derive(Clone)]
pub(crate) struct S3Blobs(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) store: S3Store,
    /// Of everything that the project has.
    pub(super) prefix: String,
    pub(super) max_copy_bytes: u64,
    /// Runs cleanup in the background.
    pub(super) tasks: TaskTracker,
}

impl S3Blobs {
    pub(crate) fn new(store: S3Store, project: &str, tasks: TaskTracker) -> Self {
        let prefix = match store.prefix() {
            "" => project.to_owned(),
            prefix => format!("{prefix}/{project}"),
        };
        Self(Arc::new(Inner {
            store,
            prefix,
            max_copy_bytes: MAX_COPY_BYTES,
            tasks,
        }))
    }

    pub(in crate::blobs) async fn read(
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
            // Stores report a range beyond the end in different ways.
            Err(error) => match self.size(version).await {
                Ok(size) if size.is_none_or(|size| size < range.end) => return Ok(None),
                _ => return Err(to_io_error(error)),
            },
        };
        // The size comes from the row, which a user's SQL may have changed.
        if found.meta.size < range.end {
            return Ok(None);
        }
        Ok(Some(Body::from_stream(
            found.into_stream().map_err(to_io_error),
        )))
    }

    pub(in crate::blobs) async fn size(&self, version: &Version) -> io::Result<Option<u64>> {
        match self.client().head(&self.path(version)).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(to_io_error(error)),
        }
    }

    pub(super) async fn put(&self, path: &Path, bytes: PutPayload) -> io::Result<()> {
        self.client().put(path, bytes).await.map_err(to_io_error)?;
        Ok(())
    }

    pub(super) async fn delete(&self, path: &Path) -> io::Result<()> {
        match self.client().delete(path).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(to_io_error(error)),
        }
    }

    pub(super) fn client(&self) -> &AmazonS3 {
        self.0.store.client()
    }

    /// Where the blob is once it is complete.
    pub(super) fn path(&self, version: &Version) -> Path {
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
