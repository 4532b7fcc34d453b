//! Everything that a store holds, one blob after the other, in constant memory.
//!
//! What is listed was there at some moment while the list was made, and nothing more is promised:
//! uploads and the collector go on meanwhile. Whoever draws conclusions looks twice.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use futures_util::{Stream, StreamExt as _, stream};
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{Blobs, LocalBlobs, Version};

/// Entries that wait for whoever reads the list.
const AHEAD: usize = 256;

/// Bytes that a store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) version: Version,
    pub(crate) place: Place,
    pub(crate) size: u64,
    /// When the bytes, or what they are called, changed last.
    pub(crate) modified: SystemTime,
}

/// How far bytes have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A blob that can be read.
    Whole,
    /// It grows over several requests.
    Growing,
    /// One request was writing it.
    Unfinished,
}

impl Place {
    const ALL: [Self; 3] = [Self::Whole, Self::Growing, Self::Unfinished];
}

impl Blobs {
    /// All bytes of the store, wherever they are.
    pub(crate) fn inventory(&self) -> impl Stream<Item = io::Result<Stored>> + Send {
        match self {
            Self::Local(local) => local.inventory().boxed(),
            Self::S3(s3) => s3.inventory().boxed(),
        }
    }

    /// Whether another installation may keep its bytes in the same place.
    pub(crate) fn may_be_shared(&self) -> bool {
        matches!(self, Self::S3(_))
    }

    /// Whether bytes that were listed are still there.
    pub(crate) async fn still_has(&self, stored: &Stored) -> io::Result<bool> {
        match self {
            Self::Local(local) => local.still_has(stored).await,
            Self::S3(s3) => s3.still_has(stored).await,
        }
    }
}

impl LocalBlobs {
    fn inventory(&self) -> impl Stream<Item = io::Result<Stored>> + Send + use<> {
        let (listed, list) = mpsc::channel(AHEAD);
        let folders = Place::ALL.map(|place| (place, self.folder_of(place)));
        spawn_blocking(move || {
            for (place, folder) in folders {
                let depth = match place {
                    Place::Whole => 2,
                    Place::Growing | Place::Unfinished => 0,
                };
                if !walk(&folder, depth, place, &listed) {
                    return;
                }
            }
        });
        stream::unfold(list, async |mut list| Some((list.recv().await?, list)))
    }

    async fn still_has(&self, stored: &Stored) -> io::Result<bool> {
        let path = self.path_at(stored.place, &stored.version);
        let found = spawn_blocking(move || fs::exists(path)).await;
        found.map_err(io::Error::other)?
    }
}

/// Lists a folder, `depth` folders further down; `false` once nobody reads the list any more.
fn walk(
    folder: &Path,
    depth: usize,
    place: Place,
    listed: &mpsc::Sender<io::Result<Stored>>,
) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return true,
        Err(error) => return listed.blocking_send(Err(told(folder, &error))).is_ok(),
    };
    for entry in entries {
        let goes_on = match entry {
            Ok(entry) if depth > 0 => walk(&entry.path(), depth - 1, place, listed),
            Ok(entry) => match stored(&entry, place).transpose() {
                Some(found) => listed.blocking_send(found).is_ok(),
                None => true,
            },
            Err(error) => listed.blocking_send(Err(told(folder, &error))).is_ok(),
        };
        if !goes_on {
            return false;
        }
    }
    true
}

/// What a file holds; nothing if it is none of ours, or has just gone.
fn stored(entry: &fs::DirEntry, place: Place) -> io::Result<Option<Stored>> {
    let path = entry.path();
    let Some(version) = version_of(&path, place) else {
        return Ok(None);
    };
    let found = entry.metadata();
    let metadata = match found {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(_) => return Ok(None),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(told(&path, &error)),
    };
    Ok(Some(Stored {
        version,
        place,
        size: metadata.len(),
        modified: changed(&metadata)?,
    }))
}

/// The version that a file is called, where that is the file in which the version is looked for.
fn version_of(path: &Path, place: Place) -> Option<Version> {
    let name = path.file_name()?.to_str()?;
    let version = Version::parse(name).filter(|version| version.to_string() == name)?;
    let folders = version.folders();
    let expected: PathBuf = folders.iter().collect();
    match place {
        Place::Whole if !path.parent()?.ends_with(expected) => None,
        _ => Some(version),
    }
}

/// A copy is a link, as old as what it was copied from; when it got its name is what counts.
#[cfg(unix)]
fn changed(metadata: &fs::Metadata) -> io::Result<SystemTime> {
    use std::{os::unix::fs::MetadataExt as _, time::Duration};
    let modified = metadata.modified()?;
    let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    let renamed = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
    Ok(renamed.map_or(modified, |renamed| renamed.max(modified)))
}

#[cfg(not(unix))]
fn changed(metadata: &fs::Metadata) -> io::Result<SystemTime> {
    metadata.modified()
}

fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

fn told(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::TryStreamExt as _;

    use super::*;

    fn store() -> (tempfile::TempDir, Blobs) {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::Local(LocalBlobs::new(folder.path().to_owned(), false));
        (folder, blobs)
    }

    async fn write(blobs: &Blobs, bytes: &'static str) -> Version {
        let version = Version::generate();
        let mut writer = blobs.create(&version, 100).await.expect("a writer");
        writer.write(Bytes::from(bytes)).await.expect("taken");
        writer.finish().await.expect("settled");
        version
    }

    async fn list(blobs: &Blobs) -> Vec<Stored> {
        blobs.inventory().try_collect().await.expect("a list")
    }

    #[tokio::test]
    async fn an_empty_store_has_nothing() {
        let (_folder, blobs) = store();
        assert_eq!(list(&blobs).await, []);
    }

    #[tokio::test]
    async fn everything_is_listed_with_its_size_and_how_far_it_came() {
        let (folder, blobs) = store();
        let whole = write(&blobs, "abc").await;
        let growing = Version::generate();
        let appender = blobs.append(&growing, 0, 100).await.expect("opened");
        let mut appender = appender.expect("nothing was there");
        appender.write(Bytes::from("de")).await.expect("taken");
        appender.pause().await.expect("safe");
        let unfinished = Version::generate();
        fs::create_dir_all(folder.path().join("tmp")).expect("a folder");
        let path = folder.path().join("tmp").join(unfinished.to_string());
        fs::write(path, "f").expect("a file");

        let listed = list(&blobs).await;

        let told: Vec<_> = listed
            .iter()
            .map(|stored| (stored.version, stored.place, stored.size))
            .collect();
        let expected = [
            (whole, Place::Whole, 3),
            (growing, Place::Growing, 2),
            (unfinished, Place::Unfinished, 1),
        ];
        assert_eq!(told, expected);
        for stored in &listed {
            let age = SystemTime::now().duration_since(stored.modified);
            assert!(
                age.is_ok_and(|age| age < Duration::from_secs(60)),
                "{stored:?}"
            );
            assert!(blobs.still_has(stored).await.expect("looked"));
            blobs.remove(&stored.version).await.expect("removed");
            assert!(!blobs.still_has(stored).await.expect("looked"));
        }
    }

    /// Lest the copy of an old blob counts as old.
    #[tokio::test]
    async fn a_copy_is_as_young_as_its_name() {
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
    async fn a_list_that_nobody_reads_to_its_end_ends() {
        let (_folder, blobs) = store();
        for _ in 0..3 * AHEAD {
            write(&blobs, "x").await;
        }
        let list = blobs.inventory();
        tokio::pin!(list);
        assert!(list.next().await.is_some());
    }
}
