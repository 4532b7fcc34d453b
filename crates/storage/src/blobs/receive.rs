//! Bytes from a client into a blob, in constant memory.

use bytes::Bytes;
use plinth_project::ProjectDb;
use tokio::task::JoinHandle;

use super::{
    backend::{BlobWriter, Blobs},
    ledger::{abandon_pending, register_pending},
    model::WrittenBlob,
    version::Version,
};
use crate::error::StorageError;

/// Where bytes come from.
pub(crate) trait ByteSource: Send {
    /// The next bytes; `None` at the end.
    fn next_chunk(&mut self) -> impl Future<Output = Result<Option<Bytes>, StorageError>> + Send;

    /// An upper bound of their number, where one is known in advance.
    fn max_size(&self) -> Option<u64> {
        None
    }
}

/// A blob of which all bytes were received. It can be read once it is finished.
pub(crate) struct ReceivedBlob {
    version: Version,
    writer: BlobWriter,
    registered: JoinHandle<Result<(), StorageError>>,
}

impl ReceivedBlob {
    /// Makes the blob durable. It is pending then: unless a row references it soon, it is
    /// collected.
    pub(crate) async fn finish(
        self,
        db: &ProjectDb,
    ) -> Result<(Version, WrittenBlob), StorageError> {
        let finished = async {
            // No blob may become visible that the ledger does not list.
            self.registered.await.map_err(StorageError::internal)??;
            Ok(self.writer.finish().await?)
        };
        match finished.await {
            Ok(written) => Ok((self.version, written)),
            Err(error) => {
                discard(db, &self.version).await;
                Err(error)
            }
        }
    }

    pub(crate) async fn discard(self, db: &ProjectDb) {
        drop(self.writer);
        discard_registered(db, &self.version, self.registered).await;
    }
}

/// Receives everything that `source` has, but not more than `limit` bytes.
///
/// The ledger is written in a task of its own while the bytes arrive, so that nothing is waited for
/// after the last byte: a client that disconnects then does not cancel the upload. If the request is
/// cancelled, the task still ends; the blob is pending then, and garbage collection removes it.
pub(crate) async fn receive(
    db: &ProjectDb,
    blobs: &Blobs,
    source: &mut impl ByteSource,
    limit: u64,
) -> Result<ReceivedBlob, StorageError> {
    let version = Version::generate();
    let (ledger, place) = (db.clone(), blobs.clone());
    let registered = async move { Ok(register_pending(&ledger, &place, &version).await?) };
    let registered = tokio::spawn(registered);
    match write(blobs, &version, source, limit).await {
        Ok(writer) => Ok(ReceivedBlob {
            version,
            writer,
            registered,
        }),
        Err(error) => {
            discard_registered(db, &version, registered).await;
            Err(error)
        }
    }
}

/// Waits for the registration first: it must not come after the row was removed.
async fn discard_registered(
    db: &ProjectDb,
    version: &Version,
    registered: JoinHandle<Result<(), StorageError>>,
) {
    _ = registered.await;
    discard(db, version).await;
}

/// Hands a blob that no row will reference to the garbage collection.
pub(crate) async fn discard(db: &ProjectDb, version: &Version) {
    if let Err(error) = abandon_pending(db, version).await {
        // It is still pending, and pending blobs expire.
        tracing::warn!(%error, "cannot discard an unused blob now, garbage collection will: {error}");
    }
}

async fn write(
    blobs: &Blobs,
    version: &Version,
    source: &mut impl ByteSource,
    limit: u64,
) -> Result<BlobWriter, StorageError> {
    let mut writer = blobs.create(version, expected_size(source, limit)).await?;
    let mut size = 0_u64;
    while let Some(bytes) = source.next_chunk().await? {
        size += bytes.len() as u64;
        if size > limit {
            return Err(StorageError::too_large());
        }
        writer.write(bytes).await?;
    }
    Ok(writer)
}

/// The upper bound that the writer is created for. An S3 store has parts so long that their number
/// suffices, and keeps some in memory: they should not be longer than this file needs.
fn expected_size(source: &impl ByteSource, limit: u64) -> u64 {
    source.max_size().map_or(limit, |size| size.min(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sized(Option<u64>);

    impl ByteSource for Sized {
        async fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
            Ok(None)
        }

        fn max_size(&self) -> Option<u64> {
            self.0
        }
    }

    #[test]
    fn a_writer_is_created_for_the_announced_size_and_not_for_the_limit() {
        assert_eq!(expected_size(&Sized(None), 500), 500);
        assert_eq!(expected_size(&Sized(Some(3)), 500), 3);
        assert_eq!(expected_size(&Sized(Some(900)), 500), 500);
    }
}
