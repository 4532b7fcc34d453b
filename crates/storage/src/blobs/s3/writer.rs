//! Writes a blob that arrives in one request. One shorter than a part is put at once.

use std::io;

use bytes::Bytes;
use md5::{Digest, Md5};
use object_store::{PutPayload, PutPayloadMut};

use super::{blobs::S3Blobs, multipart::MultipartUpload};
use crate::{
    blobs::{model::WrittenBlob, version::Version},
    hex::hex,
};

/// Small frames of a body are copied together into blocks of this size.
const BLOCK_BYTES: usize = 256 * 1024;

impl S3Blobs {
    /// A blob of at most `max_size` bytes.
    pub(in crate::blobs) fn create(&self, version: &Version, max_size: u64) -> S3Writer {
        let part_size = self.0.store.part_size(max_size);
        S3Writer::new(self.clone(), *version, part_size)
    }
}

/// Writes one blob.
pub(crate) struct S3Writer {
    blobs: S3Blobs,
    version: Version,
    buffer: PartBuffer,
    /// Once the first part is full.
    pub(super) upload: Option<MultipartUpload>,
    md5: Md5,
    size: u64,
}

impl S3Writer {
    pub(super) fn new(blobs: S3Blobs, version: Version, part_size: usize) -> Self {
        Self {
            blobs,
            version,
            buffer: PartBuffer::new(part_size),
            upload: None,
            md5: Md5::new(),
            size: 0,
        }
    }

    pub(in crate::blobs) async fn write(&mut self, mut bytes: Bytes) -> io::Result<()> {
        self.md5.update(&bytes);
        self.size += bytes.len() as u64;
        while let Some(part) = self.buffer.fill(&mut bytes) {
            let upload = match &mut self.upload {
                Some(upload) => upload,
                none => none.insert(MultipartUpload::start(&self.blobs, &self.version).await?),
            };
            upload.send_part(part).await?;
        }
        Ok(())
    }

    pub(in crate::blobs) async fn finish(mut self) -> io::Result<WrittenBlob> {
        let rest = self.buffer.take();
        match &mut self.upload {
            None => {
                let path = self.blobs.path(&self.version);
                self.blobs.put(&path, rest).await?;
            }
            Some(upload) => {
                if rest.content_length() > 0 {
                    upload.send_part(rest).await?;
                }
                upload.complete(&self.version, self.size).await?;
                let completed = upload.id().to_owned();
                self.upload = None;
                self.blobs
                    .try_clean_up(&self.version, Some(&completed))
                    .await;
            }
        }
        let md5 = std::mem::take(&mut self.md5).finalize();
        Ok(WrittenBlob {
            size: self.size,
            md5: hex(&md5),
        })
    }
}

impl Drop for S3Writer {
    /// The store keeps the parts of an upload until it is aborted.
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            let (blobs, version) = (self.blobs.clone(), self.version);
            self.blobs.0.tasks.spawn(async move {
                // A part that the store receives after the abort would stay for ever, and cancelling
                // a request does not report how much of it has arrived.
                upload.wait_for_parts().await;
                blobs.try_clean_up(&version, None).await;
            });
        }
    }
}

/// A part that is being filled.
pub(super) struct PartBuffer {
    part_size: usize,
    bytes: PutPayloadMut,
}

impl PartBuffer {
    pub(super) fn new(part_size: usize) -> Self {
        Self {
            part_size,
            bytes: PutPayloadMut::new().with_block_size(BLOCK_BYTES),
        }
    }

    pub(super) fn part_size(&self) -> usize {
        self.part_size
    }

    /// Moves bytes into the part until it is full, and gives it then. The rest of `bytes` is for
    /// the next part.
    pub(super) fn fill(&mut self, bytes: &mut Bytes) -> Option<PutPayload> {
        let free = self.part_size - self.bytes.content_length();
        let fitting = bytes.split_to(free.min(bytes.len()));
        self.bytes.extend_from_slice(&fitting);
        (self.bytes.content_length() == self.part_size).then(|| self.take())
    }

    /// What is in the part.
    pub(super) fn take(&mut self) -> PutPayload {
        let empty = PutPayloadMut::new().with_block_size(BLOCK_BYTES);
        std::mem::replace(&mut self.bytes, empty).freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_one_length_whatever_comes() {
        let mut buffer = PartBuffer::new(4);
        let mut lengths = Vec::new();
        for frame in ["a", "bcdefghijk", "", "lm"] {
            let mut bytes = Bytes::from_static(frame.as_bytes());
            while let Some(part) = buffer.fill(&mut bytes) {
                lengths.push(part.content_length());
            }
            assert!(bytes.is_empty());
        }
        assert_eq!(lengths, [4, 4, 4]);
        assert_eq!(Bytes::from(buffer.take()), "m");
        assert_eq!(buffer.take().content_length(), 0);
    }
}
