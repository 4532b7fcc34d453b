//! A blob that arrives in one request. What is shorter than a part is put at once.

use std::io;

use bytes::Bytes;
use md5::{Digest, Md5};
use object_store::{PutPayload, PutPayloadMut};

use super::{S3Blobs, parts::Parts};
use crate::{
    blobs::{Version, Written},
    hex::hex,
};

/// Small pieces of a body are put together to blocks of this size.
const BLOCK: usize = 256 * 1024;

/// A blob on its way in.
pub(crate) struct S3Writer {
    blobs: S3Blobs,
    version: Version,
    filling: Filling,
    pub(super) parts: Option<Parts>,
    md5: Md5,
    size: u64,
}

impl S3Writer {
    pub(super) fn new(blobs: S3Blobs, version: Version, part_size: usize) -> Self {
        Self {
            blobs,
            version,
            filling: Filling::new(part_size),
            parts: None,
            md5: Md5::new(),
            size: 0,
        }
    }

    pub(in crate::blobs) async fn write(&mut self, mut bytes: Bytes) -> io::Result<()> {
        self.md5.update(&bytes);
        self.size += bytes.len() as u64;
        while let Some(part) = self.filling.take(&mut bytes) {
            let parts = match &mut self.parts {
                Some(parts) => parts,
                none => none.insert(Parts::begin(&self.blobs, &self.version).await?),
            };
            parts.send(part).await?;
        }
        Ok(())
    }

    pub(in crate::blobs) async fn finish(mut self) -> io::Result<Written> {
        let rest = self.filling.rest();
        match &mut self.parts {
            None => {
                self.blobs
                    .put(&self.blobs.path(&self.version), rest)
                    .await?
            }
            Some(parts) => {
                if rest.content_length() > 0 {
                    parts.send(rest).await?;
                }
                parts.complete(&self.version, self.size).await?;
                let completed = parts.upload().to_owned();
                self.parts = None;
                self.blobs
                    .try_to_forget(&self.version, Some(&completed))
                    .await;
            }
        }
        let md5 = std::mem::take(&mut self.md5).finalize();
        Ok(Written {
            size: self.size,
            md5: hex(&md5),
        })
    }
}

impl Drop for S3Writer {
    /// The store keeps the parts of an upload until it is told not to.
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take() {
            let (blobs, version) = (self.blobs.clone(), self.version);
            self.blobs.0.tasks.spawn(async move {
                // None may arrive after all were let go.
                drop(parts);
                blobs.try_to_forget(&version, None).await;
            });
        }
    }
}

/// A part that is being filled.
pub(super) struct Filling {
    part_size: usize,
    bytes: PutPayloadMut,
}

impl Filling {
    pub(super) fn new(part_size: usize) -> Self {
        Self {
            part_size,
            bytes: PutPayloadMut::new().with_block_size(BLOCK),
        }
    }

    pub(super) fn part_size(&self) -> usize {
        self.part_size
    }

    /// Takes bytes until the part is full, and gives it then. What is left of `bytes` is for the next
    /// part.
    pub(super) fn take(&mut self, bytes: &mut Bytes) -> Option<PutPayload> {
        let room = self.part_size - self.bytes.content_length();
        let fitting = bytes.split_to(room.min(bytes.len()));
        self.bytes.extend_from_slice(&fitting);
        (self.bytes.content_length() == self.part_size).then(|| self.rest())
    }

    /// What there is.
    pub(super) fn rest(&mut self) -> PutPayload {
        let empty = PutPayloadMut::new().with_block_size(BLOCK);
        std::mem::replace(&mut self.bytes, empty).freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_one_length_whatever_comes() {
        let mut filling = Filling::new(4);
        let mut lengths = Vec::new();
        for piece in ["a", "bcdefghijk", "", "lm"] {
            let mut bytes = Bytes::from_static(piece.as_bytes());
            while let Some(part) = filling.take(&mut bytes) {
                lengths.push(part.content_length());
            }
            assert!(bytes.is_empty());
        }
        assert_eq!(lengths, [4, 4, 4]);
        assert_eq!(Bytes::from(filling.rest()), "m");
        assert_eq!(filling.rest().content_length(), 0);
    }
}
