//! Lists everything that a project has in the bucket.

use std::{io, pin::pin, time::SystemTime};

use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use object_store::{ObjectMeta, ObjectStore as _, path::Path};

use super::{blobs::S3Blobs, error::to_io_error, records::UploadRecords};
use crate::blobs::{
    model::{BlobState, StoredBlob},
    version::Version,
};

/// Blobs that are removed together: as many as a store deletes with one request.
const BATCH_SIZE: usize = 1000;

impl S3Blobs {
    /// Complete blobs as the store lists them, then unfinished ones.
    pub(in crate::blobs) fn inventory(
        &self,
    ) -> impl Stream<Item = io::Result<StoredBlob>> + Send + use<> {
        let prefix = Path::from(format!("{}/blobs", self.0.prefix));
        let complete = self.client().list(Some(&prefix)).map_err(to_io_error);
        let complete = complete.try_filter_map(async |meta| Ok(complete_blob(&meta)));
        let unfinished = self
            .list_records()
            .map_ok(|records| unfinished_blob(&records));
        complete.chain(unfinished)
    }

    /// Whether a blob that was listed is still there.
    pub(in crate::blobs) async fn still_exists(&self, stored: &StoredBlob) -> io::Result<bool> {
        match stored.state {
            BlobState::Complete => Ok(self.size(&stored.version).await?.is_some()),
            BlobState::Resumable | BlobState::InFlight => self.has_records(&stored.version).await,
        }
    }

    /// Removes everything.
    pub(crate) async fn clear(&self) -> io::Result<()> {
        let mut all = pin!(self.inventory().try_chunks(BATCH_SIZE));
        while let Some(batch) = all.try_next().await.map_err(|cut| cut.1)? {
            let versions: Vec<_> = batch.iter().map(|stored| stored.version).collect();
            let removal = self.remove_all(&versions).await;
            removal.failure.map_or(Ok(()), |(_, error)| Err(error))?;
        }
        Ok(())
    }
}

/// `None` for objects of others.
fn complete_blob(meta: &ObjectMeta) -> Option<StoredBlob> {
    Some(StoredBlob {
        version: Version::parse(meta.location.filename()?)?,
        state: BlobState::Complete,
        size: meta.size,
        modified: SystemTime::from(meta.last_modified),
    })
}

/// The size of an upload in a single request is not known to the store.
fn unfinished_blob(records: &UploadRecords) -> StoredBlob {
    StoredBlob {
        version: records.version,
        state: match records.offset {
            Some(_) => BlobState::Resumable,
            None => BlobState::InFlight,
        },
        size: records.offset.unwrap_or_default(),
        modified: records.modified,
    }
}
