//! A multipart upload into one blob.

use std::{collections::VecDeque, io};

use object_store::{
    Error, PutPayload,
    multipart::{MultipartStore as _, PartId},
    path::Path,
};
use tokio_util::task::AbortOnDropHandle;

use super::{blobs::S3Blobs, error::to_io_error};
use crate::blobs::version::Version;

/// Parts in flight at a time. With the one that is being filled, these are all that an upload keeps
/// in memory.
const MAX_PARTS_IN_FLIGHT: usize = 2;

/// A multipart upload. Dropped, it cancels the parts in flight, of which the store may still receive
/// some, and aborts nothing: that is up to its owner.
pub(super) struct MultipartUpload {
    blobs: S3Blobs,
    path: Path,
    id: String,
    /// The ETags of the parts that have arrived.
    etags: Vec<String>,
    in_flight: VecDeque<AbortOnDropHandle<Result<PartId, Error>>>,
}

impl MultipartUpload {
    /// Starts an upload, and records its id before any part is sent.
    pub(super) async fn start(blobs: &S3Blobs, version: &Version) -> io::Result<Self> {
        let path = blobs.path(version);
        let id = blobs.client().create_multipart(&path).await;
        let id = id.map_err(to_io_error)?;
        blobs.record_upload(version, &id).await?;
        Ok(Self::resume(blobs, version, id, Vec::new()))
    }

    /// Continues an upload behind the parts that it has.
    pub(super) fn resume(
        blobs: &S3Blobs,
        version: &Version,
        id: String,
        etags: Vec<String>,
    ) -> Self {
        Self {
            blobs: blobs.clone(),
            path: blobs.path(version),
            id,
            etags,
            in_flight: VecDeque::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Sends a part; waits while too many are in flight.
    pub(super) async fn send_part(&mut self, part: PutPayload) -> io::Result<()> {
        if self.in_flight.len() >= MAX_PARTS_IN_FLIGHT {
            self.wait_for_oldest().await?;
        }
        let index = self.etags.len() + self.in_flight.len();
        let (blobs, path) = (self.blobs.clone(), self.path.clone());
        let id = self.id.clone();
        let sending = async move { blobs.client().put_part(&path, &id, index, part).await };
        let sending = AbortOnDropHandle::new(tokio::spawn(sending));
        self.in_flight.push_back(sending);
        Ok(())
    }

    /// Waits until all parts have arrived; gives their ETags, in their order.
    pub(super) async fn wait_for_all(&mut self) -> io::Result<&[String]> {
        while !self.in_flight.is_empty() {
            self.wait_for_oldest().await?;
        }
        Ok(&self.etags)
    }

    /// Makes one blob of `size` bytes of all parts.
    pub(super) async fn complete(&mut self, version: &Version, size: u64) -> io::Result<()> {
        let parts = self.wait_for_all().await?.iter().map(|etag| PartId {
            content_id: etag.clone(),
        });
        let parts = parts.collect();
        let client = self.blobs.client();
        match client.complete_multipart(&self.path, &self.id, parts).await {
            Ok(_) => Ok(()),
            // The response to the first attempt was lost, and the retry finds no upload.
            Err(_)
                if self
                    .blobs
                    .size(version)
                    .await
                    .is_ok_and(|found| found == Some(size)) =>
            {
                Ok(())
            }
            Err(error) => Err(to_io_error(error)),
        }
    }

    /// Waits until no part is in flight, however each of them ends.
    pub(super) async fn wait_for_parts(&mut self) {
        while !self.in_flight.is_empty() {
            _ = self.wait_for_oldest().await;
        }
    }

    async fn wait_for_oldest(&mut self) -> io::Result<()> {
        if let Some(oldest) = self.in_flight.pop_front() {
            let part = oldest.await.map_err(io::Error::other)?;
            self.etags.push(part.map_err(to_io_error)?.content_id);
        }
        Ok(())
    }
}
