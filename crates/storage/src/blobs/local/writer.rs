//! Writes a blob.
//!
//! Frames from the socket are collected into blocks, which two workers write and digest,
//! independent of each other and of the task that reads the body. Only small frames are copied.

use std::{fs::File, io, path::PathBuf, sync::Arc};

use bytes::{Bytes, BytesMut};
use md5::{Digest, Md5};
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{
    sink::Sink,
    worker::{Block, Work, Worker},
};
use crate::{
    blobs::model::{WrittenBlob, WrittenChunk},
    hex::hex,
};

/// Bytes that are written and digested together.
const BLOCK_BYTES: usize = 128 * 1024;
/// Bytes in blocks that are queued or being processed. With the block that is being filled these
/// are all that an upload keeps in memory.
const MAX_QUEUED_BYTES: usize = 6 * BLOCK_BYTES;
/// Shorter frames are copied together: each may pin a buffer much larger than itself.
const SMALL_FRAME_BYTES: usize = 8 * 1024;

/// Writes one file.
pub(crate) struct LocalWriter {
    /// Where the complete blob will be.
    target: PathBuf,
    buffer: BlockBuffer,
    capacity: Arc<Semaphore>,
    sink: Worker<Sink>,
    md5: Worker<Md5>,
}

impl LocalWriter {
    /// A new file at a temporary path, which is removed unless it is finished.
    pub(super) fn new(temporary: PathBuf, target: PathBuf, fsync: bool) -> Self {
        Self::with_sink(Sink::new(temporary, fsync), target)
    }

    /// Appends to a file that is kept whatever happens.
    pub(super) fn append_to(file: File, path: PathBuf, target: PathBuf, fsync: bool) -> Self {
        Self::with_sink(Sink::append_to(file, path, fsync), target)
    }

    fn with_sink(sink: Sink, target: PathBuf) -> Self {
        Self {
            target,
            buffer: BlockBuffer::default(),
            capacity: Arc::new(Semaphore::new(MAX_QUEUED_BYTES)),
            sink: Worker::new(sink),
            md5: Worker::new(Md5::new()),
        }
    }

    pub(in crate::blobs) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.buffer.push(bytes);
        if self.buffer.size < BLOCK_BYTES {
            return Ok(());
        }
        let size = self.buffer.size.min(MAX_QUEUED_BYTES);
        let size = u32::try_from(size).map_err(io::Error::other)?;
        let permit = self.capacity.clone().acquire_many_owned(size).await;
        let block = Arc::new(Block {
            _permit: permit.map_err(io::Error::other)?,
            frames: self.buffer.take(),
        });
        self.sink.submit(block.clone())?;
        self.md5.submit(block)
    }

    /// Makes what was written durable and leaves the file where it is.
    pub(in crate::blobs) async fn close(mut self) -> io::Result<WrittenChunk> {
        let rest = self.buffer.take();
        let (mut sink, mut md5) = (self.sink.finish().await?, self.md5.finish().await?);
        let closed = spawn_blocking(move || {
            md5.process(&rest)?;
            sink.process(&rest)?;
            Ok(WrittenChunk {
                size: sink.flush()?,
                md5: md5.finalize().into(),
            })
        });
        closed.await.map_err(io::Error::other)?
    }

    /// Makes it durable at its final path.
    pub(in crate::blobs) async fn finish(mut self) -> io::Result<WrittenBlob> {
        let rest = self.buffer.take();
        let (mut sink, mut md5) = (self.sink.finish().await?, self.md5.finish().await?);
        let finished = spawn_blocking(move || {
            md5.process(&rest)?;
            sink.process(&rest)?;
            Ok(WrittenBlob {
                size: sink.persist(&self.target)?,
                md5: hex(&md5.finalize()),
            })
        });
        finished.await.map_err(io::Error::other)?
    }
}

/// A block that is being filled.
#[derive(Default)]
struct BlockBuffer {
    frames: Vec<Bytes>,
    small_frames: BytesMut,
    size: usize,
}

impl BlockBuffer {
    fn push(&mut self, bytes: Bytes) {
        self.size += bytes.len();
        if bytes.len() < SMALL_FRAME_BYTES {
            self.small_frames.extend_from_slice(&bytes);
            return;
        }
        self.flush_small_frames();
        self.frames.push(bytes);
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.flush_small_frames();
        self.size = 0;
        std::mem::take(&mut self.frames)
    }

    fn flush_small_frames(&mut self) {
        if !self.small_frames.is_empty() {
            self.frames.push(self.small_frames.split().freeze());
        }
    }
}

impl Work for Md5 {
    fn process(&mut self, frames: &[Bytes]) -> io::Result<()> {
        frames.iter().for_each(|frame| self.update(frame));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
