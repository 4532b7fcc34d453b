//! A blob on its way in.
//!
//! Bytes are written and digested as they came from the socket, in blocks, by two threads that go
//! on independently of each other and of whoever reads the body. Nothing is copied but crumbs.

use std::{fs::File, io, path::PathBuf, sync::Arc};

use bytes::{Bytes, BytesMut};
use md5::{Digest, Md5};
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{
    LocalBlobs,
    sink::Sink,
    worker::{Block, Work, Worker},
};
use crate::{
    blobs::{Piece, Version, Written},
    hex::hex,
};

/// Bytes that are worked on together.
const BLOCK: usize = 128 * 1024;
/// Bytes that are being worked on, or wait for it. With the block that is being filled these are all
/// that a transfer keeps in memory.
const ROOM: usize = 6 * BLOCK;
/// Whatever is shorter is copied together: it may keep much more in memory than its own length.
const CRUMB: usize = 8 * 1024;

/// A file on its way in.
pub(crate) struct LocalWriter {
    folder: LocalBlobs,
    version: Version,
    filling: Filling,
    room: Arc<Semaphore>,
    sink: Worker<Sink>,
    md5: Worker<Md5>,
}

impl LocalWriter {
    /// A new file, which goes unless it is finished.
    pub(super) fn new(folder: LocalBlobs, version: Version) -> Self {
        let sink = Sink::new(folder.temporary(&version), folder.syncs());
        Self::into_sink(folder, version, sink)
    }

    /// Goes on with a file that is kept whatever happens.
    pub(in crate::blobs) fn onto(
        folder: LocalBlobs,
        version: Version,
        file: File,
        path: PathBuf,
    ) -> Self {
        let sink = Sink::onto(file, path, folder.syncs());
        Self::into_sink(folder, version, sink)
    }

    fn into_sink(folder: LocalBlobs, version: Version, sink: Sink) -> Self {
        Self {
            folder,
            version,
            filling: Filling::default(),
            room: Arc::new(Semaphore::new(ROOM)),
            sink: Worker::new(sink),
            md5: Worker::new(Md5::new()),
        }
    }

    pub(in crate::blobs) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.filling.add(bytes);
        if self.filling.size < BLOCK {
            return Ok(());
        }
        let size = u32::try_from(self.filling.size.min(ROOM)).map_err(io::Error::other)?;
        let room = self.room.clone().acquire_many_owned(size).await;
        let block = Arc::new(Block {
            _room: room.map_err(io::Error::other)?,
            frames: self.filling.take(),
        });
        self.sink.give(block.clone())?;
        self.md5.give(block)
    }

    /// Makes what was taken safe and leaves the file where it is.
    pub(in crate::blobs) async fn pause(mut self) -> io::Result<Piece> {
        let rest = self.filling.take();
        let (mut sink, mut md5) = (self.sink.rest().await?, self.md5.rest().await?);
        let paused = spawn_blocking(move || {
            md5.take(&rest)?;
            sink.take(&rest)?;
            Ok(Piece {
                size: sink.pause()?,
                md5: md5.finalize().into(),
            })
        });
        paused.await.map_err(io::Error::other)?
    }

    pub(in crate::blobs) async fn finish(mut self) -> io::Result<Written> {
        let rest = self.filling.take();
        let (mut sink, mut md5) = (self.sink.rest().await?, self.md5.rest().await?);
        let path = self.folder.path(&self.version);
        let finished = spawn_blocking(move || {
            md5.take(&rest)?;
            sink.take(&rest)?;
            Ok(Written {
                size: sink.settle(&path)?,
                md5: hex(&md5.finalize()),
            })
        });
        finished.await.map_err(io::Error::other)?
    }
}

/// A block that is being filled.
#[derive(Default)]
struct Filling {
    frames: Vec<Bytes>,
    crumbs: BytesMut,
    size: usize,
}

impl Filling {
    fn add(&mut self, bytes: Bytes) {
        self.size += bytes.len();
        if bytes.len() < CRUMB {
            self.crumbs.extend_from_slice(&bytes);
            return;
        }
        self.gather();
        self.frames.push(bytes);
    }

    fn take(&mut self) -> Vec<Bytes> {
        self.gather();
        self.size = 0;
        std::mem::take(&mut self.frames)
    }

    fn gather(&mut self) {
        if !self.crumbs.is_empty() {
            self.frames.push(self.crumbs.split().freeze());
        }
    }
}

impl Work for Md5 {
    fn take(&mut self, frames: &[Bytes]) -> io::Result<()> {
        frames.iter().for_each(|frame| self.update(frame));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
