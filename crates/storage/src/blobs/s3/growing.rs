//! Blobs that grow over several requests (storage contract §14.5).
//!
//! Whole parts go into a multipart upload. With every pause a checkpoint is put beside it, named
//! after the number of bytes that the blob then has: the tags of the parts so far, and the bytes
//! that do not fill one. Which checkpoint counts is said by the database; one that was written in
//! vain is in nobody's way.

use std::io;

use bytes::{Buf as _, Bytes};
use futures_util::StreamExt as _;
use md5::{Digest, Md5};
use object_store::{Error, ObjectStoreExt as _, PutPayloadMut};
use serde::{Deserialize, Serialize};

use super::{S3Blobs, failure, parts::Parts, writer::Filling};
use crate::blobs::{Piece, Version};

/// What stands in a checkpoint, before the bytes that fill no part.
#[derive(Debug, Serialize, Deserialize)]
struct Checkpoint {
    part_size: usize,
    /// The multipart upload, once there is a part.
    upload: Option<String>,
    /// The tags of its parts.
    parts: Vec<String>,
    /// The offset of the checkpoint before this one, which nobody needs once this one counts.
    before: Option<u64>,
}

/// A growing blob that takes more bytes.
pub(crate) struct S3Appender {
    blobs: S3Blobs,
    version: Version,
    /// Bytes that it had before.
    offset: u64,
    filling: Filling,
    parts: Option<Parts>,
    md5: Md5,
    /// Bytes that came since.
    size: u64,
}

impl S3Appender {
    pub(in crate::blobs) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.md5.update(&bytes);
        self.size += bytes.len() as u64;
        self.store(bytes).await
    }

    pub(in crate::blobs) async fn pause(mut self) -> io::Result<Piece> {
        if self.size > 0 || self.offset == 0 {
            let before = (self.offset > 0).then_some(self.offset);
            self.save(self.offset + self.size, before).await?;
        }
        Ok(Piece {
            size: self.size,
            md5: self.md5.finalize().into(),
        })
    }

    async fn store(&mut self, mut bytes: Bytes) -> io::Result<()> {
        while let Some(part) = self.filling.take(&mut bytes) {
            let parts = match &mut self.parts {
                Some(parts) => parts,
                none => none.insert(Parts::begin(&self.blobs, &self.version).await?),
            };
            parts.send(part).await?;
        }
        Ok(())
    }

    async fn save(&mut self, offset: u64, before: Option<u64>) -> io::Result<()> {
        let parts = match &mut self.parts {
            Some(parts) => parts.arrive().await?.to_vec(),
            None => Vec::new(),
        };
        let checkpoint = Checkpoint {
            part_size: self.filling.part_size(),
            upload: self.parts.as_ref().map(|parts| parts.upload().to_owned()),
            parts,
            before,
        };
        let mut bytes = PutPayloadMut::new();
        let mut line = serde_json::to_vec(&checkpoint).map_err(io::Error::other)?;
        line.push(b'\n');
        bytes.push(line.into());
        self.filling
            .rest()
            .into_iter()
            .for_each(|rest| bytes.push(rest));
        let path = self.blobs.checkpoint_path(&self.version, offset);
        self.blobs.put(&path, bytes.freeze()).await
    }
}

impl S3Blobs {
    /// Goes on with a blob that will have at most so many bytes.
    pub(in crate::blobs) async fn append(
        &self,
        version: &Version,
        offset: u64,
        at_most: u64,
    ) -> io::Result<Option<S3Appender>> {
        match self.size(version).await? {
            None => {}
            Some(size) if size < offset => return Ok(None),
            // It was whole already, and then became no object.
            Some(_) => self.take_apart(version, offset, at_most).await?,
        }
        if offset == 0 {
            // What came before does not count.
            self.forget(version, None).await?;
            return Ok(Some(self.grow(version, at_most)));
        }
        let Some((checkpoint, rest)) = self.checkpoint(version, offset).await? else {
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
            Err(error) => Err(failure(error)),
        }
    }

    /// The blob has all its bytes.
    pub(in crate::blobs) async fn assemble(&self, version: &Version, size: u64) -> io::Result<()> {
        let Some((checkpoint, rest)) = self.checkpoint(version, size).await? else {
            return match self.size(version).await? {
                Some(found) if found == size => Ok(()),
                _ => Err(io::ErrorKind::NotFound.into()),
            };
        };
        let mut appender = self.resume(version, checkpoint);
        let completed = match &mut appender.parts {
            None => {
                self.put(&self.path(version), rest.into()).await?;
                None
            }
            Some(parts) => {
                if !rest.is_empty() {
                    parts.send(rest.into()).await?;
                }
                parts.complete(version, size).await?;
                Some(parts.upload())
            }
        };
        self.try_to_forget(version, completed).await;
        Ok(())
    }

    fn grow(&self, version: &Version, at_most: u64) -> S3Appender {
        let checkpoint = Checkpoint {
            part_size: self.0.store.part_size(at_most),
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
            filling: Filling::new(checkpoint.part_size),
            parts: upload.map(|upload| Parts::resume(self, version, upload, parts)),
            md5: Md5::new(),
            size: 0,
        }
    }

    /// Makes a whole blob one again that grows and has `offset` bytes. The store has to be sent them
    /// once more; but that only ever happens to an upload whose end went wrong.
    async fn take_apart(&self, version: &Version, offset: u64, at_most: u64) -> io::Result<()> {
        self.forget(version, None).await?;
        if offset > 0 {
            let body = self.read(version, 0..offset).await?;
            let body = body.ok_or(io::ErrorKind::NotFound)?;
            let mut bytes = body.into_data_stream();
            let mut appender = self.grow(version, at_most);
            while let Some(piece) = bytes.next().await {
                appender.store(piece.map_err(io::Error::other)?).await?;
            }
            appender.save(offset, None).await?;
        }
        self.delete(&self.path(version)).await
    }

    async fn checkpoint(
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
            Err(error) => return Err(failure(error)),
        };
        let mut bytes = found.bytes().await.map_err(failure)?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or(io::ErrorKind::InvalidData)?;
        let line = bytes.split_to(end);
        bytes.advance(1);
        Ok(Some((serde_json::from_slice(&line)?, bytes)))
    }
}
