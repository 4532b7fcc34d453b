//! The file that a body is written to.

use std::{
    fs::File,
    io::{self, ErrorKind, IoSlice, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use tokio::{
    runtime::Handle,
    task::{JoinHandle, spawn_blocking},
};

use super::{file::TemporaryFile, worker::Work};

/// After so many bytes a sync is started in the background: otherwise the client of a long upload
/// would wait at its end until all of it is on disk.
const SYNC_INTERVAL_BYTES: u64 = 32 * 1024 * 1024;

/// Writes blocks to a file.
pub(super) struct Sink {
    path: PathBuf,
    /// Created with the first bytes.
    file: Option<TemporaryFile>,
    size: u64,
    /// Whether the bytes must be on disk in the end.
    fsync: bool,
    /// Bytes that a sync was started for.
    sync_started: u64,
    background_sync: Option<JoinHandle<io::Result<()>>>,
}

impl Sink {
    /// A file that is created with the first bytes, and removed unless it is persisted.
    pub(super) fn new(path: PathBuf, fsync: bool) -> Self {
        Self {
            path,
            file: None,
            size: 0,
            fsync,
            sync_started: 0,
            background_sync: None,
        }
    }

    /// An open file, which is kept whatever happens.
    pub(super) fn append_to(file: File, path: PathBuf, fsync: bool) -> Self {
        Self {
            file: Some(TemporaryFile::keep(file, path.clone())),
            ..Self::new(path, fsync)
        }
    }

    /// Makes the bytes durable where they are; gives how many were written.
    pub(super) fn flush(mut self) -> io::Result<u64> {
        self.await_background_sync()?;
        match &self.file {
            Some(file) if self.fsync => file.sync()?,
            _ => {}
        }
        Ok(self.size)
    }

    /// Makes them durable at their final path.
    pub(super) fn persist(mut self, path: &Path) -> io::Result<u64> {
        self.await_background_sync()?;
        if let Some(file) = self.file.take() {
            file.persist(path, self.fsync)?;
        }
        Ok(self.size)
    }

    fn start_background_sync(&mut self) -> io::Result<()> {
        let is_busy = self
            .background_sync
            .as_ref()
            .is_some_and(|sync| !sync.is_finished());
        if !self.fsync || is_busy || self.size - self.sync_started < SYNC_INTERVAL_BYTES {
            return Ok(());
        }
        self.await_background_sync()?;
        if let Some(file) = &self.file {
            let file = file.file.try_clone()?;
            self.background_sync = Some(spawn_blocking(move || file.sync_data()));
            self.sync_started = self.size;
        }
        Ok(())
    }

    /// The kernel reports a failed write to the first sync only, so its result must not be dropped.
    fn await_background_sync(&mut self) -> io::Result<()> {
        match self.background_sync.take() {
            Some(sync) => Handle::current().block_on(sync).map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

impl Work for Sink {
    fn process(&mut self, frames: &[Bytes]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(TemporaryFile::create(self.path.clone())?),
        };
        write_all(&mut file.file, frames)?;
        self.size += frames.iter().map(|frame| frame.len() as u64).sum::<u64>();
        self.start_background_sync()
    }
}

fn write_all(file: &mut impl Write, frames: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<_> = frames.iter().map(|frame| IoSlice::new(frame)).collect();
    let mut slices = slices.as_mut_slice();
    // Skips empty slices, so that the list is empty exactly when everything is written.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_write_leaves_is_written_by_the_next() {
        /// Takes three bytes at a time, and is interrupted before each.
        struct Narrow(Vec<u8>, bool);

        impl Write for Narrow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 {
                    return Err(ErrorKind::Interrupted.into());
                }
                let taken = bytes.len().min(3);
                self.0.extend_from_slice(&bytes[..taken]);
                Ok(taken)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let mut narrow = Narrow(Vec::new(), false);
        let frames = ["", "ab", "cdefgh", "", "i", ""].map(Bytes::from);
        write_all(&mut narrow, &frames).expect("written");
        assert_eq!(narrow.0, b"abcdefghi");

        let nothing = &mut [0_u8; 0][..];
        let full = write_all(&mut { nothing }, &frames).expect_err("full");
        assert_eq!(full.kind(), ErrorKind::WriteZero);
    }

    #[tokio::test]
    async fn a_long_file_is_synced_in_the_background_and_completely() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = (folder.path().join("tmp"), folder.path().join("whole"));
        let mut sink = Sink::new(path, true);
        let frame = Bytes::from(vec![7; 1024 * 1024]);
        let persisted = spawn_blocking(move || {
            let frames = [frame.clone(), frame];
            for _ in 0..2 * SYNC_INTERVAL_BYTES / (2 << 20) {
                sink.process(&frames).expect("written");
            }
            assert!(sink.sync_started >= SYNC_INTERVAL_BYTES);
            sink.persist(&whole).map(|size| (size, whole))
        });
        let (size, whole) = persisted.await.expect("no panic").expect("persisted");

        assert_eq!(size, 2 * SYNC_INTERVAL_BYTES);
        assert_eq!(std::fs::metadata(whole).expect("a file").len(), size);
    }
}
