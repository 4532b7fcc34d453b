//! Removes blobs, many at a time.

use std::{collections::HashSet, io, pin::pin};

use futures_util::{StreamExt as _, stream};
use object_store::{ObjectStore as _, path::Path};

use super::blobs::S3Blobs;
use crate::blobs::{model::Removal, version::Version};

impl S3Blobs {
    /// Aborts uploads into it first, lest one of them completes it after it was removed.
    pub(in crate::blobs) async fn remove(&self, version: &Version) -> io::Result<()> {
        self.clean_up(version, None).await?;
        self.delete(&self.path(version)).await
    }

    /// Lists the records once and deletes with one request, however many blobs there are.
    pub(in crate::blobs) async fn remove_all(&self, versions: &[Version]) -> Removal {
        let mut removal = Removal::default();
        if let Err((version, error)) = self.clean_up_all(versions).await {
            removal.failure = Some((version, error));
            return removal;
        }
        let paths: Vec<_> = versions.iter().map(|version| self.path(version)).collect();
        let deleted = self.bulk_delete(&paths).await;
        for (version, path) in versions.iter().zip(&paths) {
            // Not every store supports bulk deletion.
            if deleted.contains(path) {
                removal.removed.push(*version);
            } else {
                match self.delete(path).await {
                    Ok(()) => removal.removed.push(*version),
                    Err(error) => {
                        removal.failure = Some((*version, error));
                        return removal;
                    }
                }
            }
        }
        removal
    }

    async fn clean_up_all(&self, versions: &[Version]) -> Result<(), (Version, io::Error)> {
        let Some(first) = versions.first() else {
            return Ok(());
        };
        let wanted: HashSet<&Version> = versions.iter().collect();
        let mut records = pin!(self.list_records());
        while let Some(records) = records.next().await {
            let version = records.map_err(|error| (*first, error))?.version;
            if wanted.contains(&version) {
                let cleaned = self.clean_up(&version, None).await;
                cleaned.map_err(|error| (version, error))?;
            }
        }
        Ok(())
    }

    /// Gives those that the store confirms as deleted.
    async fn bulk_delete(&self, paths: &[Path]) -> HashSet<Path> {
        let all = stream::iter(paths.to_vec()).map(Ok).boxed();
        let deleted = self.0.store.bulk().delete_stream(all);
        deleted
            .filter_map(async |deleted| deleted.ok())
            .collect()
            .await
    }
}
