//! Bytes from a client into a blob, in constant memory.

use bytes::Bytes;
use plinth_project::ProjectDb;

use super::{BlobWriter, Blobs, Version, Written, announce, withdraw};
use crate::error::StorageError;

/// Where bytes come from.
pub(crate) trait Source: Send {
    /// The next bytes; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, StorageError>> + Send;
}

/// Bytes that have all been taken. They are a blob once they are settled.
pub(crate) struct Arrived {
    version: Version,
    writer: BlobWriter,
}

impl Arrived {
    /// Makes the bytes safe. The blob is pending then: a row makes it an object, and nothing else
    /// keeps it.
    pub(crate) async fn settle(self, db: &ProjectDb) -> Result<(Version, Written), StorageError> {
        match self.writer.finish().await {
            Ok(written) => Ok((self.version, written)),
            Err(error) => {
                discard(db, &self.version).await;
                Err(error.into())
            }
        }
    }
}

/// Takes everything that `source` has, but not more than `limit` bytes.
pub(crate) async fn receive(
    db: &ProjectDb,
    blobs: &Blobs,
    source: &mut impl Source,
    limit: u64,
) -> Result<Arrived, StorageError> {
    let version = Version::generate();
    // The ledger is written while the bytes arrive, and before any of them are to be seen.
    let announced = async { announce(db, &version).await.map_err(StorageError::from) };
    let stored = store(blobs, &version, source, limit);
    match tokio::try_join!(announced, stored) {
        Ok(((), writer)) => Ok(Arrived { version, writer }),
        Err(error) => {
            discard(db, &version).await;
            Err(error)
        }
    }
}

/// Lets a blob go that no row will name.
pub(crate) async fn discard(db: &ProjectDb, version: &Version) {
    if let Err(error) = withdraw(db, version).await {
        // The sweeper finds it among the pending ones.
        tracing::warn!(%error, "unused bytes stay for now: {error}");
    }
}

async fn store(
    blobs: &Blobs,
    version: &Version,
    source: &mut impl Source,
    limit: u64,
) -> Result<BlobWriter, StorageError> {
    let mut writer = blobs.create(version).await?;
    let mut size = 0_u64;
    while let Some(bytes) = source.next().await? {
        size += bytes.len() as u64;
        if size > limit {
            return Err(StorageError::too_large());
        }
        writer.write(bytes).await?;
    }
    Ok(writer)
}

impl From<std::io::Error> for StorageError {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error)
    }
}
