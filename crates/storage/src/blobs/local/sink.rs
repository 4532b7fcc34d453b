//! The file that a body goes into.

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

use super::{file::Temporary, worker::Work};

/// So many bytes the disk is asked for while more are on their way: otherwise whoever sends a long
/// file waits in the end until all of it is written.
const AHEAD: u64 = 32 * 1024 * 1024;

/// Where bytes go.
pub(super) struct Sink {
    path: PathBuf,
    /// Made with the first bytes.
    file: Option<Temporary>,
    size: u64,
    /// Whether the disk shall have the bytes in the end.
    syncs: bool,
    /// Bytes that it was asked for.
    asked: u64,
    asking: Option<JoinHandle<io::Result<()>>>,
}

impl Sink {
    /// A file that will be there with the first bytes, and goes unless it is settled.
    pub(super) fn new(path: PathBuf, syncs: bool) -> Self {
        Self {
            path,
            file: None,
            size: 0,
            syncs,
            asked: 0,
            asking: None,
        }
    }

    /// A file that is kept whatever happens.
    pub(super) fn onto(file: File, path: PathBuf, syncs: bool) -> Self {
        Self {
            file: Some(Temporary::kept(file, path.clone())),
            ..Self::new(path, syncs)
        }
    }

    /// Makes the bytes safe where they are; gives how many came.
    pub(super) fn pause(mut self) -> io::Result<u64> {
        self.hear_from_disk()?;
        match &self.file {
            Some(file) if self.syncs => file.sync()?,
            _ => {}
        }
        Ok(self.size)
    }

    /// Makes them safe in the place where they stay.
    pub(super) fn settle(mut self, path: &Path) -> io::Result<u64> {
        self.hear_from_disk()?;
        if let Some(file) = self.file.take() {
            file.settle(path, self.syncs)?;
        }
        Ok(self.size)
    }

    fn ask_disk(&mut self) -> io::Result<()> {
        let is_busy = self
            .asking
            .as_ref()
            .is_some_and(|asked| !asked.is_finished());
        if !self.syncs || is_busy || self.size - self.asked < AHEAD {
            return Ok(());
        }
        self.hear_from_disk()?;
        if let Some(file) = &self.file {
            let file = file.file.try_clone()?;
            self.asking = Some(spawn_blocking(move || file.sync_data()));
            self.asked = self.size;
        }
        Ok(())
    }

    /// A disk tells only once that it could not write: to whoever asked first.
    fn hear_from_disk(&mut self) -> io::Result<()> {
        match self.asking.take() {
            Some(asked) => Handle::current()
                .block_on(asked)
                .map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

impl Work for Sink {
    fn take(&mut self, frames: &[Bytes]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Temporary::create(self.path.clone())?),
        };
        write_all(&mut file.file, frames)?;
        self.size += frames.iter().map(|frame| frame.len() as u64).sum::<u64>();
        self.ask_disk()
    }
}

fn write_all(file: &mut impl Write, frames: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<_> = frames.iter().map(|frame| IoSlice::new(frame)).collect();
    let mut slices = slices.as_mut_slice();
    // Empty ones go at once, so that nothing is left exactly when everything is written.
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
    async fn a_long_file_is_on_the_disk_before_its_end_and_none_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = (folder.path().join("tmp"), folder.path().join("whole"));
        let mut sink = Sink::new(path, true);
        let frame = Bytes::from(vec![7; 1024 * 1024]);
        let settled = spawn_blocking(move || {
            let frames = [frame.clone(), frame];
            for _ in 0..2 * AHEAD / (2 << 20) {
                sink.take(&frames).expect("written");
            }
            assert!(sink.asked >= AHEAD);
            sink.settle(&whole).map(|size| (size, whole))
        });
        let (size, whole) = settled.await.expect("no panic").expect("settled");

        assert_eq!(size, 2 * AHEAD);
        assert_eq!(std::fs::metadata(whole).expect("a file").len(), size);
    }
}
