//! A multipart upload: parts on their way into one blob.

use std::{collections::VecDeque, io};

use object_store::{
    Error, PutPayload,
    multipart::{MultipartStore as _, PartId},
    path::Path,
};
use tokio_util::task::AbortOnDropHandle;

use super::{S3Blobs, failure};
use crate::blobs::Version;

/// Parts that are on their way at a time. With the one that is being filled, these are all that a
/// transfer keeps in memory.
const ON_THEIR_WAY: usize = 2;

/// A multipart upload. What becomes of it when it is dropped is for its owner to say.
pub(super) struct Parts {
    blobs: S3Blobs,
    path: Path,
    upload: String,
    done: Vec<String>,
    on_their_way: VecDeque<AbortOnDropHandle<Result<PartId, Error>>>,
}

impl Parts {
    /// Begins an upload, and notes it before any byte of it is sent.
    pub(super) async fn begin(blobs: &S3Blobs, version: &Version) -> io::Result<Self> {
        let path = blobs.path(version);
        let upload = blobs.client().create_multipart(&path).await;
        let upload = upload.map_err(failure)?;
        blobs.note_upload(version, &upload).await?;
        Ok(Self::resume(blobs, version, upload, Vec::new()))
    }

    /// Goes on with an upload behind the parts that it has.
    pub(super) fn resume(
        blobs: &S3Blobs,
        version: &Version,
        upload: String,
        done: Vec<String>,
    ) -> Self {
        Self {
            blobs: blobs.clone(),
            path: blobs.path(version),
            upload,
            done,
            on_their_way: VecDeque::new(),
        }
    }

    pub(super) fn upload(&self) -> &str {
        &self.upload
    }

    /// Sends a part; waits while too many are on their way.
    pub(super) async fn send(&mut self, part: PutPayload) -> io::Result<()> {
        if self.on_their_way.len() >= ON_THEIR_WAY {
            self.first_arrives().await?;
        }
        let index = self.done.len() + self.on_their_way.len();
        let (blobs, path) = (self.blobs.clone(), self.path.clone());
        let upload = self.upload.clone();
        let sending = async move { blobs.client().put_part(&path, &upload, index, part).await };
        let sending = AbortOnDropHandle::new(tokio::spawn(sending));
        self.on_their_way.push_back(sending);
        Ok(())
    }

    /// Waits until all parts are there; gives their tags, in their order.
    pub(super) async fn arrive(&mut self) -> io::Result<&[String]> {
        while !self.on_their_way.is_empty() {
            self.first_arrives().await?;
        }
        Ok(&self.done)
    }

    /// Makes one blob of `size` bytes of all the parts.
    pub(super) async fn complete(&mut self, version: &Version, size: u64) -> io::Result<()> {
        let parts = self.arrive().await?.iter().map(|tag| PartId {
            content_id: tag.clone(),
        });
        let parts = parts.collect();
        let client = self.blobs.client();
        match client
            .complete_multipart(&self.path, &self.upload, parts)
            .await
        {
            Ok(_) => Ok(()),
            // The answer to the first attempt was lost, and the second one finds no upload.
            Err(_)
                if self
                    .blobs
                    .size(version)
                    .await
                    .is_ok_and(|found| found == Some(size)) =>
            {
                Ok(())
            }
            Err(error) => Err(failure(error)),
        }
    }

    async fn first_arrives(&mut self) -> io::Result<()> {
        if let Some(first) = self.on_their_way.pop_front() {
            let part = first.await.map_err(io::Error::other)?;
            self.done.push(part.map_err(failure)?.content_id);
        }
        Ok(())
    }
}
