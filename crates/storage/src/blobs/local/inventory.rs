//! Lists the files of a store, on a blocking thread.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use futures_util::{Stream, stream};
use tokio::{sync::mpsc, task::spawn_blocking};

use super::LocalBlobs;
use crate::blobs::{
    model::{BlobState, StoredBlob},
    version::Version,
};

/// Entries that may wait for the reader of the list.
const CHANNEL_CAPACITY: usize = 256;

impl LocalBlobs {
    pub(in crate::blobs) fn inventory(
        &self,
    ) -> impl Stream<Item = io::Result<StoredBlob>> + Send + use<> {
        let (entries, list) = mpsc::channel(CHANNEL_CAPACITY);
        let folders = BlobState::ALL.map(|state| (state, self.folder_of(state)));
        spawn_blocking(move || {
            for (state, folder) in folders {
                let depth = match state {
                    BlobState::Complete => 2,
                    BlobState::Resumable | BlobState::InFlight => 0,
                };
                if !walk(&folder, depth, state, &entries) {
                    return;
                }
            }
        });
        stream::unfold(list, async |mut list| Some((list.recv().await?, list)))
    }

    pub(in crate::blobs) async fn still_exists(&self, stored: &StoredBlob) -> io::Result<bool> {
        let path = self.path_in(stored.state, &stored.version);
        let found = spawn_blocking(move || fs::exists(path)).await;
        found.map_err(io::Error::other)?
    }
}

/// Lists the files `depth` folders below a folder; `false` once the receiver is gone.
fn walk(
    folder: &Path,
    depth: usize,
    state: BlobState,
    entries: &mpsc::Sender<io::Result<StoredBlob>>,
) -> bool {
    let files = match fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if is_absent(&error) => return true,
        Err(error) => {
            return entries
                .blocking_send(Err(with_path(folder, &error)))
                .is_ok();
        }
    };
    for entry in files {
        let is_wanted = match entry {
            Ok(entry) if depth > 0 => walk(&entry.path(), depth - 1, state, entries),
            Ok(entry) => match stored_blob(&entry, state).transpose() {
                Some(found) => entries.blocking_send(found).is_ok(),
                None => true,
            },
            Err(error) => entries
                .blocking_send(Err(with_path(folder, &error)))
                .is_ok(),
        };
        if !is_wanted {
            return false;
        }
    }
    true
}

/// The blob of a file; `None` if it is none of ours, or was just removed.
fn stored_blob(entry: &fs::DirEntry, state: BlobState) -> io::Result<Option<StoredBlob>> {
    let path = entry.path();
    let Some(version) = version_of(&path, state) else {
        return Ok(None);
    };
    let found = entry.metadata();
    let metadata = match found {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(_) => return Ok(None),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(with_path(&path, &error)),
    };
    Ok(Some(StoredBlob {
        version,
        state,
        size: metadata.len(),
        modified: changed_at(&metadata)?,
    }))
}

/// The version that a file is named after, if the file is also where that version belongs.
fn version_of(path: &Path, state: BlobState) -> Option<Version> {
    let name = path.file_name()?.to_str()?;
    let version = Version::parse(name).filter(|version| version.to_string() == name)?;
    let folders = version.folders();
    let expected: PathBuf = folders.iter().collect();
    match state {
        BlobState::Complete if !path.parent()?.ends_with(expected) => None,
        _ => Some(version),
    }
}

/// The later of mtime and ctime: a copy is a hard link with the mtime of its source, but its ctime
/// is when it was linked.
#[cfg(unix)]
fn changed_at(metadata: &fs::Metadata) -> io::Result<SystemTime> {
    use std::{os::unix::fs::MetadataExt as _, time::Duration};
    let modified = metadata.modified()?;
    let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    let linked = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
    Ok(linked.map_or(modified, |linked| linked.max(modified)))
}

#[cfg(not(unix))]
fn changed_at(metadata: &fs::Metadata) -> io::Result<SystemTime> {
    metadata.modified()
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::{StreamExt as _, TryStreamExt as _};

    use super::*;
    use crate::blobs::Blobs;

    fn store() -> (tempfile::TempDir, Blobs) {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::Local(LocalBlobs::new(folder.path().to_owned(), false));
        (folder, blobs)
    }

    async fn write(blobs: &Blobs, bytes: &'static str) -> Version {
        let version = Version::generate();
        let mut writer = blobs.create(&version, 100).await.expect("a writer");
        writer.write(Bytes::from(bytes)).await.expect("taken");
        writer.finish().await.expect("finished");
        version
    }

    async fn list(blobs: &Blobs) -> Vec<StoredBlob> {
        blobs.inventory().try_collect().await.expect("a list")
    }

    #[tokio::test]
    async fn an_empty_store_has_nothing() {
        let (_folder, blobs) = store();
        assert_eq!(list(&blobs).await, []);
    }

    #[tokio::test]
    async fn everything_is_listed_with_its_size_and_state() {
        let (folder, blobs) = store();
        let complete = write(&blobs, "abc").await;
        let resumable = Version::generate();
        let appender = blobs.append(&resumable, 0, 100).await.expect("opened");
        let mut appender = appender.expect("nothing was there");
        appender.write(Bytes::from("de")).await.expect("taken");
        appender.close().await.expect("durable");
        let in_flight = Version::generate();
        fs::create_dir_all(folder.path().join("tmp")).expect("a folder");
        let path = folder.path().join("tmp").join(in_flight.to_string());
        fs::write(path, "f").expect("a file");

        let listed = list(&blobs).await;

        let found: Vec<_> = listed
            .iter()
            .map(|stored| (stored.version, stored.state, stored.size))
            .collect();
        let expected = [
            (complete, BlobState::Complete, 3),
            (resumable, BlobState::Resumable, 2),
            (in_flight, BlobState::InFlight, 1),
        ];
        assert_eq!(found, expected);
        for stored in &listed {
            let age = SystemTime::now().duration_since(stored.modified);
            assert!(
                age.is_ok_and(|age| age < Duration::from_secs(60)),
                "{stored:?}"
            );
            assert!(blobs.still_exists(stored).await.expect("looked"));
            blobs.remove(&stored.version).await.expect("removed");
            assert!(!blobs.still_exists(stored).await.expect("looked"));
        }
    }

    /// Otherwise the copy of an old blob would count as old.
    #[tokio::test]
    async fn a_copy_is_as_old_as_its_link() {
        let (_folder, blobs) = store();
        let source = write(&blobs, "abc").await;
        let Blobs::Local(local) = &blobs else {
            panic!("a store of files");
        };
        let file = fs::File::options().append(true).open(local.path(&source));
        let long_ago = SystemTime::now() - Duration::from_secs(7 * 86_400);
        file.expect("open")
            .set_modified(long_ago)
            .expect("another time");
        let copy = Version::generate();
        assert!(blobs.copy(&source, &copy).await.expect("copied"));

        for stored in list(&blobs).await {
            let age = SystemTime::now().duration_since(stored.modified);
            assert!(age.is_ok_and(|age| age < Duration::from_secs(60)));
        }
    }

    #[tokio::test]
    async fn files_of_others_are_left_out() {
        let (folder, blobs) = store();
        let version = write(&blobs, "abc").await;
        let blobs_folder = folder.path().join("blobs");
        let elsewhere = blobs_folder.join("zz/zz");
        fs::create_dir_all(&elsewhere).expect("a folder");
        fs::write(elsewhere.join(version.to_string()), "x").expect("a file");
        fs::write(elsewhere.join("notes.txt"), "x").expect("a file");
        fs::write(blobs_folder.join(".hidden"), "x").expect("a file");
        fs::create_dir_all(folder.path().join("tmp/folder")).expect("a folder");

        let listed = list(&blobs).await;

        let versions: Vec<_> = listed.iter().map(|stored| stored.version).collect();
        assert_eq!(versions, [version]);
    }

    #[tokio::test]
    async fn a_list_that_is_not_read_to_its_end_stops() {
        let (_folder, blobs) = store();
        for _ in 0..3 * CHANNEL_CAPACITY {
            write(&blobs, "x").await;
        }
        let list = blobs.inventory();
        tokio::pin!(list);
        assert!(list.next().await.is_some());
    }
}
