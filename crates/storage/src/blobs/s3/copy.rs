//! Blobs made of other blobs.

use std::io;

use futures_util::StreamExt as _;
use object_store::{Error, ObjectStoreExt as _, path::Path};

use super::{blobs::S3Blobs, error::to_io_error};
use crate::blobs::{model::WrittenBlob, version::Version};

impl S3Blobs {
    /// The store copies by itself what is not too long for that.
    pub(in crate::blobs) async fn copy(&self, from: &Version, to: &Version) -> io::Result<bool> {
        self.copy_from(self, from, to).await
    }

    pub(in crate::blobs) async fn import(
        &self,
        from: &Self,
        version: &Version,
    ) -> io::Result<bool> {
        self.copy_from(from, version, version).await
    }

    async fn copy_from(&self, other: &Self, from: &Version, to: &Version) -> io::Result<bool> {
        let Some(size) = other.size(from).await? else {
            return Ok(false);
        };
        let source = other.path(from);
        if size > self.0.max_copy_bytes {
            return Ok(self
                .concatenate_objects(&[source], to, size)
                .await?
                .is_some());
        }
        match self.client().copy(&source, &self.path(to)).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(to_io_error(error)),
        }
    }

    /// The bytes pass through this process, a few parts at a time.
    pub(in crate::blobs) async fn concatenate(
        &self,
        parts: &[Version],
        to: &Version,
        size: u64,
    ) -> io::Result<Option<u64>> {
        let parts: Vec<_> = parts.iter().map(|part| self.path(part)).collect();
        self.concatenate_objects(&parts, to, size).await
    }

    async fn concatenate_objects(
        &self,
        parts: &[Path],
        to: &Version,
        size: u64,
    ) -> io::Result<Option<u64>> {
        let mut writer = self.create(to, size);
        for part in parts {
            let found = match self.client().get(part).await {
                Ok(found) => found,
                Err(Error::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(to_io_error(error)),
            };
            let mut bytes = found.into_stream();
            while let Some(chunk) = bytes.next().await {
                writer.write(chunk.map_err(to_io_error)?).await?;
            }
        }
        let WrittenBlob { size, .. } = writer.finish().await?;
        Ok(Some(size))
    }
}
