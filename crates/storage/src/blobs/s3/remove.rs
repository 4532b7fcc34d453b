//! Blobs that go, many at a time.

use std::{collections::HashSet, io, pin::pin};

use futures_util::{StreamExt as _, stream};
use object_store::{ObjectStore as _, path::Path};

use super::S3Blobs;
use crate::blobs::{Removal, Version};

impl S3Blobs {
    /// Uploads into it end first: none may become a blob that has just been removed.
    pub(in crate::blobs) async fn remove(&self, version: &Version) -> io::Result<()> {
        self.forget(version, None).await?;
        self.delete(&self.path(version)).await
    }

    /// One list of notes and one request for all of them, however many there are.
    pub(in crate::blobs) async fn remove_all(&self, versions: &[Version]) -> Removal {
        let mut removal = Removal::default();
        if let Err((version, error)) = self.forget_all(versions).await {
            removal.failure = Some((version, error));
            return removal;
        }
        let paths: Vec<_> = versions.iter().map(|version| self.path(version)).collect();
        let deleted = self.delete_at_once(&paths).await;
        for (version, path) in versions.iter().zip(&paths) {
            // A store that cannot remove several, or not all of these, is asked for one.
            match deleted.contains(path) {
                true => removal.gone.push(*version),
                false => match self.delete(path).await {
                    Ok(()) => removal.gone.push(*version),
                    Err(error) => {
                        removal.failure = Some((*version, error));
                        return removal;
                    }
                },
            }
        }
        removal
    }

    async fn forget_all(&self, versions: &[Version]) -> Result<(), (Version, io::Error)> {
        let Some(first) = versions.first() else {
            return Ok(());
        };
        let wanted: HashSet<&Version> = versions.iter().collect();
        let mut notes = pin!(self.all_notes());
        while let Some(notes) = notes.next().await {
            let version = notes.map_err(|error| (*first, error))?.version;
            if wanted.contains(&version) {
                let forgotten = self.forget(&version, None).await;
                forgotten.map_err(|error| (version, error))?;
            }
        }
        Ok(())
    }

    /// Those that are gone for certain.
    async fn delete_at_once(&self, paths: &[Path]) -> HashSet<Path> {
        let all = stream::iter(paths.to_vec()).map(Ok).boxed();
        let deleted = self.0.store.bulk().delete_stream(all);
        deleted
            .filter_map(async |deleted| deleted.ok())
            .collect()
            .await
    }
}
