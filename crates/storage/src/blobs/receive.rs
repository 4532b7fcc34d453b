//! Bytes from a client into a blob, in constant memory.

use bytes::Bytes;
use plinth_project::ProjectDb;
use tokio::task::JoinHandle;

use super::{BlobWriter, Blobs, Version, Written, announce, withdraw};
use crate::error::StorageError;

/// Where bytes come from.
pub(crate) trait Source: Send {
    /// The next bytes; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, StorageError>> + Send;

    /// How many there are at most, where that is known before they come.
    fn at_most(&self) -> Option<u64> {
        None
    }
}

/// Bytes that have all been taken. They are a blob once they are settled.
pub(crate) struct Arrived {
    version: Version,
    writer: BlobWriter,
    announced: JoinHandle<Result<(), StorageError>>,
}

impl Arrived {
    /// Makes the bytes safe. The blob is pending then: a row makes it an object, and nothing else
    /// keeps it.
    pub(crate) async fn settle(self, db: &ProjectDb) -> Result<(Version, Written), StorageError> {
        let settled = async {
            // Nothing may be seen that the ledger does not know.
            self.announced.await.map_err(StorageError::internal)??;
            Ok(self.writer.finish().await?)
        };
        match settled.await {
            Ok(written) => Ok((self.version, written)),
            Err(error) => {
                discard(db, &self.version).await;
                Err(error)
            }
        }
    }

    /// Lets the bytes go.
    pub(crate) async fn forget(self, db: &ProjectDb) {
        drop(self.writer);
        withdraw_announced(db, &self.version, self.announced).await;
    }
}

/// Takes everything that `source` has, but not more than `limit` bytes.
///
/// The ledger is written while the bytes arrive, by a task of its own: with the last byte the
/// caller goes on at once, so that a client who leaves then does not take the object along.
pub(crate) async fn receive(
    db: &ProjectDb,
    blobs: &Blobs,
    source: &mut impl Source,
    limit: u64,
) -> Result<Arrived, StorageError> {
    let version = Version::generate();
    let (ledger, place) = (db.clone(), blobs.clone());
    let announced = async move { Ok(announce(&ledger, &place, &version).await?) };
    let announced = tokio::spawn(announced);
    match store(blobs, &version, source, limit).await {
        Ok(writer) => Ok(Arrived {
            version,
            writer,
            announced,
        }),
        Err(error) => {
            withdraw_announced(db, &version, announced).await;
            Err(error)
        }
    }
}

/// What is not announced yet cannot be withdrawn.
async fn withdraw_announced(
    db: &ProjectDb,
    version: &Version,
    announced: JoinHandle<Result<(), StorageError>>,
) {
    _ = announced.await;
    discard(db, version).await;
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
    let mut writer = blobs.create(version, most(source, limit)).await?;
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

/// How many bytes will come at most. A store that takes parts makes them so long that they suffice,
/// and keeps some in memory: they are not to be longer than this file needs.
fn most(source: &impl Source, limit: u64) -> u64 {
    source.at_most().map_or(limit, |most| most.min(limit))
}

impl From<std::io::Error> for StorageError {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Announced(Option<u64>);

    impl Source for Announced {
        async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
            Ok(None)
        }

        fn at_most(&self) -> Option<u64> {
            self.0
        }
    }

    #[test]
    fn a_blob_is_prepared_for_what_comes_and_not_for_what_might() {
        assert_eq!(most(&Announced(None), 500), 500);
        assert_eq!(most(&Announced(Some(3)), 500), 3);
        assert_eq!(most(&Announced(Some(900)), 500), 500);
    }
}
