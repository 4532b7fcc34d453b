//! Appending to a segment.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::layout::{Segment, segment_path};
use crate::Timestamp;

/// A segment that the writer appends to. It holds whole lines only: a failed append is truncated, and a
/// torn line left by a crash is terminated before the next one.
#[derive(Debug)]
pub(crate) struct OpenSegment {
    file: File,
    path: PathBuf,
    bytes: u64,
    day: i64,
}

impl OpenSegment {
    /// Starts a new segment in `dir`, named by `start` or, if that is taken, by the next free name.
    pub(crate) fn create(dir: &Path, mut start: Timestamp, now: Timestamp) -> io::Result<Self> {
        loop {
            let path = segment_path(dir, start);
            match open_options().create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Self {
                        file,
                        path,
                        bytes: 0,
                        day: now.day(),
                    });
                }
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && start < Timestamp::MAX =>
                {
                    start = start.saturating_add(Duration::from_micros(1));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reopens a segment of an earlier run, or one that was closed to save file handles.
    pub(crate) fn resume(segment: &Segment, now: Timestamp) -> io::Result<Self> {
        let mut file = open_options().open(&segment.path)?;
        let bytes = file.seek(SeekFrom::End(0))?;
        let is_torn = bytes > 0 && last_byte(&mut file)? != b'\n';
        let path = segment.path.clone();
        let mut resumed = Self {
            file,
            path,
            bytes,
            day: now.day(),
        };
        if is_torn {
            resumed.append(b"\n")?;
        }
        Ok(resumed)
    }

    /// Appends whole lines: all of them, or none.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(lines) {
            // If truncating fails too, the next run skips the torn line.
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += lines.len() as u64;
        Ok(())
    }

    /// Waits until the disk has what was appended.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Whether the file was deleted, so that appends would be lost.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(fs::metadata(&self.path), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The UTC day on which it was opened.
    pub(crate) fn day(&self) -> i64 {
        self.day
    }
}

fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment_of(path: &Path) -> Segment {
        Segment {
            path: path.to_owned(),
            stamp: String::new(),
            bytes: 0,
        }
    }

    #[test]
    fn segments_that_start_together_get_names_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::from_micros(5);

        let first = OpenSegment::create(dir.path(), now, now).unwrap();
        let second = OpenSegment::create(dir.path(), now, now).unwrap();

        assert!(first.path() < second.path());
    }

    #[test]
    fn a_torn_line_is_closed_before_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("torn");
        fs::write(&path, "{\"a\":1}\n{\"b\":").unwrap();

        let mut segment = OpenSegment::resume(&segment_of(&path), Timestamp::now()).unwrap();
        segment.append(b"{\"c\":3}\n").unwrap();

        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\"a\":1}\n{\"b\":\n{\"c\":3}\n"
        );
        assert_eq!(segment.bytes(), fs::metadata(&path).unwrap().len());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_leaves_the_length_as_it_was() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut segment = OpenSegment {
            file,
            path: PathBuf::from("/dev/full"),
            bytes: 0,
            day: 0,
        };

        let error = segment.append(b"line\n").unwrap_err();

        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(segment.bytes(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn files_are_readable_by_no_other_user() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();

        let segment = OpenSegment::create(dir.path(), Timestamp::now(), Timestamp::now()).unwrap();

        let mode = fs::metadata(segment.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
