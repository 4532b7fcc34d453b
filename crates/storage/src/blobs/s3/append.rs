//! Blobs that grow over several requests (storage contract §14.5).
//!
//! Full parts go into a multipart upload. At the end of every request a checkpoint is put beside
//! it, named after the offset that the blob then has: the ETags of the parts so far, and the bytes
//! that do not fill one. The database says which checkpoint counts; others do no harm.

use std::io;

use bytes::{Buf as _, Bytes};
use futures_util::StreamExt as _;
use md5::{Digest, Md5};
use object_store::{Error, ObjectStoreExt as _, PutPayloadMut};
use serde::{Deserialize, Serialize};

use super::{blobs::S3Blobs, error::to_io_error, multipart::MultipartUpload, writer::PartBuffer};
use crate::blobs::{model::WrittenChunk, version::Version};

/// The first line of a checkpoint, before the bytes that fill no part.
#[derive(Debug, Serialize, Deserialize)]
struct Checkpoint {
    part_size: usize,
    /// The id of the multipart upload, once there is a part.
    upload: Option<String>,
    /// The ETags of its parts.
    parts: Vec<String>,
    /// The offset of the previous checkpoint, which is obsolete once this one counts.
    before: Option<u64>,
}

/// Appends to a growing blob.
pub(crate) struct S3Appender {
    blobs: S3Blobs,
    version: Version,
    /// Bytes that it had before.
    offset: u64,
    buffer: PartBuffer,
    upload: Option<MultipartUpload>,
    md5: Md5,
    /// Bytes that were appended since.
    size: u64,
}

impl S3Appender {
    pub(in crate::blobs) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.md5.update(&bytes);
        self.size += bytes.len() as u64;
        self.store(bytes).await
    }

    pub(in crate::blobs) async fn close(mut self) -> io::Result<WrittenChunk> {
        if self.size > 0 || self.offset == 0 {
            let before = (self.offset > 0).then_some(self.offset);
            self.write_checkpoint(self.offset + self.size, before)
                .await?;
        }
        Ok(WrittenChunk {
            size: self.size,
            md5: self.md5.finalize().into(),
        })
    }

    async fn store(&mut self, mut bytes: Bytes) -> io::Result<()> {
        while let Some(part) = self.buffer.fill(&mut bytes) {
            let upload = match &mut self.upload {
                Some(upload) => upload,
                none => none.insert(MultipartUpload::start(&self.blobs, &self.version).await?),
            };
            upload.send_part(part).await?;
        }
        Ok(())
    }

    async fn write_checkpoint(&mut self, offset: u64, before: Option<u64>) -> io::Result<()> {
        let parts = match &mut self.upload {
            Some(upload) => upload.wait_for_all().await?.to_vec(),
            None => Vec::new(),
        };
        let checkpoint = Checkpoint {
            part_size: self.buffer.part_size(),
            upload: self.upload.as_ref().map(|upload| upload.id().to_owned()),
            parts,
            before,
        };
        let mut bytes = PutPayloadMut::new();
        let mut line = serde_json::to_vec(&checkpoint).map_err(io::Error::other)?;
        line.push(b'\n');
        bytes.push(line.into());
        self.buffer
            .take()
            .into_iter()
            .for_each(|rest| bytes.push(rest));
        let path = self.blobs.checkpoint_path(&self.version, offset);
        self.blobs.put(&path, bytes.freeze()).await
    }
}

impl S3Blobs {
    /// Continues a blob that will have at most `max_size` bytes.
    pub(in crate::blobs) async fn append(
        &self,
        version: &Version,
        offset: u64,
        max_size: u64,
    ) -> io::Result<Option<S3Appender>> {
        match self.size(version).await? {
            None => {}
            Some(size) if size < offset => return Ok(None),
            // It was complete already, and then the row of the object was not written.
            Some(_) => self.reopen(version, offset, max_size).await?,
        }
        if offset == 0 {
            // Earlier bytes do not count.
            self.clean_up(version, None).await?;
            return Ok(Some(self.start_appender(version, max_size)));
        }
        let Some((checkpoint, rest)) = self.read_checkpoint(version, offset).await? else {
            return Ok(None);
        };
        if let Some(before) = checkpoint.before {
            self.delete(&self.checkpoint_path(version, before)).await?;
        }
        let mut appender = self.resume(version, checkpoint);
        appender.offset = offset;
        appender.store(rest).await?;
        Ok(Some(appender))
    }

    pub(in crate::blobs) async fn has_staged(
        &self,
        version: &Version,
        offset: u64,
    ) -> io::Result<bool> {
        if offset == 0 {
            return Ok(true);
        }
        match self
            .client()
            .head(&self.checkpoint_path(version, offset))
            .await
        {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => {
                let size = self.size(version).await?;
                Ok(size.is_some_and(|size| size >= offset))
            }
            Err(error) => Err(to_io_error(error)),
        }
    }

    /// Makes a complete blob of a grown one.
    pub(in crate::blobs) async fn assemble(&self, version: &Version, size: u64) -> io::Result<()> {
        let Some((checkpoint, rest)) = self.read_checkpoint(version, size).await? else {
            return match self.size(version).await? {
                Some(found) if found == size => Ok(()),
                _ => Err(io::ErrorKind::NotFound.into()),
            };
        };
        let mut appender = self.resume(version, checkpoint);
        let completed = match &mut appender.upload {
            None => {
                self.put(&self.path(version), rest.into()).await?;
                None
            }
            Some(upload) => {
                if !rest.is_empty() {
                    upload.send_part(rest.into()).await?;
                }
                upload.complete(version, size).await?;
                Some(upload.id())
            }
        };
        self.try_clean_up(version, completed).await;
        Ok(())
    }

    fn start_appender(&self, version: &Version, max_size: u64) -> S3Appender {
        let checkpoint = Checkpoint {
            part_size: self.0.store.part_size(max_size),
            upload: None,
            parts: Vec::new(),
            before: None,
        };
        self.resume(version, checkpoint)
    }

    fn resume(&self, version: &Version, checkpoint: Checkpoint) -> S3Appender {
        let parts = checkpoint.parts;
        let upload = checkpoint.upload;
        S3Appender {
            blobs: self.clone(),
            version: *version,
            offset: 0,
            buffer: PartBuffer::new(checkpoint.part_size),
            upload: upload.map(|upload| MultipartUpload::resume(self, version, upload, parts)),
            md5: Md5::new(),
            size: 0,
        }
    }

    /// Makes a complete blob a growing one again, which has `offset` bytes. They are sent to the
    /// store once more, but only where the end of an upload has failed.
    async fn reopen(&self, version: &Version, offset: u64, max_size: u64) -> io::Result<()> {
        self.clean_up(version, None).await?;
        if offset > 0 {
            let body = self.read(version, 0..offset).await?;
            let body = body.ok_or(io::ErrorKind::NotFound)?;
            let mut bytes = body.into_data_stream();
            let mut appender = self.start_appender(version, max_size);
            while let Some(chunk) = bytes.next().await {
                appender.store(chunk.map_err(io::Error::other)?).await?;
            }
            appender.write_checkpoint(offset, None).await?;
        }
        self.delete(&self.path(version)).await
    }

    async fn read_checkpoint(
        &self,
        version: &Version,
        offset: u64,
    ) -> io::Result<Option<(Checkpoint, Bytes)>> {
        let found = match self
            .client()
            .get(&self.checkpoint_path(version, offset))
            .await
        {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(to_io_error(error)),
        };
        let mut bytes = found.bytes().await.map_err(to_io_error)?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or(io::ErrorKind::InvalidData)?;
        let line = bytes.split_to(end);
        bytes.advance(1);
        Ok(Some((serde_json::from_slice(&line)?, bytes)))
    }
}
