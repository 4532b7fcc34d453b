//! Blobs as files of this machine.
//!
//! ```text
//! <root>/tmp/<version>                bytes that are still arriving
//! <root>/resumable/<version>          those of an upload over several requests (`staging.rs`)
//! <root>/blobs/ab/cd/<version>        complete, synced, never changed again
//! ```
//!
//! A file is written to `tmp`, synced, renamed into place, and the folder synced: whatever is seen
//! in `blobs` is whole. File work is done on blocking threads, in large pieces.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use md5::{Digest, Md5};
use tokio::task::{JoinHandle, spawn_blocking};

use super::{Piece, Place, Version, Written};

/// One piece of file work.
const PIECE: usize = 256 * 1024;
/// Files up to this size are read in one go.
const SMALL: u64 = 256 * 1024;

/// A folder of blobs. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LocalBlobs(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    /// Whether a blob counts as stored only once the disk has it.
    syncs: bool,
}

impl LocalBlobs {
    /// Blobs below `root`, which is made when the first one comes.
    pub(crate) fn new(root: PathBuf, syncs: bool) -> Self {
        Self(Arc::new(Folder { root, syncs }))
    }

    pub(super) async fn create(&self, version: &Version) -> io::Result<LocalWriter> {
        Ok(LocalWriter {
            folder: self.clone(),
            version: *version,
            buffer: BytesMut::new(),
            sink: Worker::new(Sink {
                file: None,
                size: 0,
            }),
            md5: Worker::new(Md5::new()),
        })
    }

    pub(super) async fn read(
        &self,
        version: &Version,
        range: Range<u64>,
    ) -> io::Result<Option<Body>> {
        let path = self.path(version);
        let opened = spawn_blocking(move || open_at(&path, range)).await;
        match opened.map_err(io::Error::other)? {
            Ok(Opened::Whole(bytes)) => Ok(Some(Body::from(bytes))),
            Ok(Opened::Rest(reader)) => Ok(Some(reader.into_body())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn size(&self, version: &Version) -> io::Result<Option<u64>> {
        let path = self.path(version);
        let found = spawn_blocking(move || fs::metadata(path)).await;
        match found.map_err(io::Error::other)? {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn copy(&self, from: &Version, to: &Version) -> io::Result<bool> {
        self.link(self.path(from), to).await
    }

    pub(super) async fn import(&self, from: &Self, version: &Version) -> io::Result<bool> {
        self.link(from.path(version), version).await
    }

    /// Bytes never change, so a blob may be another name of them.
    async fn link(&self, from: PathBuf, to: &Version) -> io::Result<bool> {
        let (temporary, syncs) = (self.temporary(to), self.0.syncs);
        let to = self.path(to);
        let copied = spawn_blocking(move || {
            make_parents(&to, syncs)?;
            match fs::hard_link(&from, &to) {
                Ok(()) => sync_parent(&to, syncs),
                Err(error) => copy_instead(error, from, &to, temporary, syncs),
            }
        });
        match copied.await.map_err(io::Error::other)? {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn join(&self, parts: &[Version], to: &Version) -> io::Result<Option<u64>> {
        let parts: Vec<_> = parts.iter().map(|part| self.path(part)).collect();
        let (temporary, path, syncs) = (self.temporary(to), self.path(to), self.0.syncs);
        let joined = spawn_blocking(move || join(parts, &path, temporary, syncs)).await;
        match joined.map_err(io::Error::other)? {
            Ok(size) => Ok(Some(size)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn remove(&self, version: &Version) -> io::Result<()> {
        let paths = [
            self.path(version),
            self.temporary(version),
            self.staging(version),
        ];
        let removed = spawn_blocking(move || paths.iter().try_for_each(|path| remove_file(path)));
        removed.await.map_err(io::Error::other)?
    }

    pub(super) async fn forget_unfinished(&self, age: Duration) -> io::Result<()> {
        let folder = self.folder_of(Place::Unfinished);
        let forgotten = spawn_blocking(move || {
            if !folder.is_dir() {
                return Ok(());
            }
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                // One that is not there any more has become a blob.
                let modified = entry.metadata().and_then(|file| file.modified());
                if modified.is_ok_and(|at| at.elapsed().is_ok_and(|elapsed| elapsed > age)) {
                    remove_file(&entry.path())?;
                }
            }
            Ok(())
        });
        forgotten.await.map_err(io::Error::other)?
    }

    pub(super) fn syncs(&self) -> bool {
        self.0.syncs
    }

    /// Where the blob is once it is whole.
    pub(super) fn path(&self, version: &Version) -> PathBuf {
        let [first, second] = version.folders();
        let folder = self.folder_of(Place::Whole).join(first).join(second);
        folder.join(version.to_string())
    }

    fn temporary(&self, version: &Version) -> PathBuf {
        self.folder_of(Place::Unfinished).join(version.to_string())
    }

    /// Where an upload over several requests grows.
    pub(super) fn staging(&self, version: &Version) -> PathBuf {
        self.folder_of(Place::Growing).join(version.to_string())
    }

    /// The folder of all bytes that have come so far.
    pub(super) fn folder_of(&self, place: Place) -> PathBuf {
        self.0.root.join(match place {
            Place::Whole => "blobs",
            Place::Growing => "resumable",
            Place::Unfinished => "tmp",
        })
    }

    pub(super) fn path_at(&self, place: Place, version: &Version) -> PathBuf {
        match place {
            Place::Whole => self.path(version),
            Place::Growing => self.staging(version),
            Place::Unfinished => self.temporary(version),
        }
    }
}

/// A file on its way in. A piece is written and digested at the same time, by two threads, and one
/// more piece of the body waits in memory: that is all that a transfer takes.
pub(crate) struct LocalWriter {
    folder: LocalBlobs,
    version: Version,
    buffer: BytesMut,
    sink: Worker<Sink>,
    md5: Worker<Md5>,
}

/// Something that takes one piece after the other on a blocking thread.
enum Worker<T> {
    Idle(Box<T>),
    Busy(JoinHandle<io::Result<Box<T>>>),
    Failed,
}

impl<T: Send + 'static> Worker<T> {
    fn new(work: T) -> Self {
        Self::Idle(Box::new(work))
    }

    /// It, once it has taken what it was given before.
    async fn rest(&mut self) -> io::Result<Box<T>> {
        match std::mem::replace(self, Self::Failed) {
            Self::Idle(work) => Ok(work),
            Self::Busy(busy) => busy.await.map_err(io::Error::other)?,
            Self::Failed => Err(io::Error::other("an earlier piece could not be written")),
        }
    }

    /// Goes on with a piece.
    fn set_to(
        mut work: Box<T>,
        take: impl FnOnce(&mut T) -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self::Busy(spawn_blocking(move || {
            take(&mut work)?;
            Ok(work)
        }))
    }
}

/// Where pieces go.
struct Sink {
    file: Option<Temporary>,
    size: u64,
}

impl LocalWriter {
    pub(super) async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.buffer.extend_from_slice(&bytes);
        if self.buffer.len() < PIECE {
            return Ok(());
        }
        let piece = self.buffer.split().freeze();
        let digested = piece.clone();
        let path = self.folder.temporary(&self.version);
        let (sink, md5) = (self.sink.rest().await?, self.md5.rest().await?);
        self.sink = Worker::set_to(sink, move |sink| sink.take(&piece, path));
        self.md5 = Worker::set_to(md5, move |md5| {
            md5.update(&digested);
            Ok(())
        });
        Ok(())
    }

    /// Goes on with a file that is kept whatever happens.
    pub(super) fn onto(folder: LocalBlobs, version: Version, file: File, path: PathBuf) -> Self {
        let file = Temporary {
            file,
            path,
            is_settled: true,
        };
        let sink = Sink {
            file: Some(file),
            size: 0,
        };
        Self {
            folder,
            version,
            buffer: BytesMut::new(),
            sink: Worker::new(sink),
            md5: Worker::new(Md5::new()),
        }
    }

    /// Makes what was taken safe and leaves the file where it is.
    pub(super) async fn pause(mut self) -> io::Result<Piece> {
        let piece = self.buffer.split().freeze();
        let (mut sink, mut md5) = (self.sink.rest().await?, self.md5.rest().await?);
        let staging = self.folder.staging(&self.version);
        let syncs = self.folder.0.syncs;
        let paused = spawn_blocking(move || {
            md5.update(&piece);
            sink.take(&piece, staging)?;
            if let Some(Temporary { file, .. }) = &sink.file
                && syncs
            {
                file.sync_data()?;
            }
            Ok(Piece {
                size: sink.size,
                md5: md5.finalize().into(),
            })
        });
        paused.await.map_err(io::Error::other)?
    }

    pub(super) async fn finish(mut self) -> io::Result<Written> {
        let piece = self.buffer.split().freeze();
        let (mut sink, mut md5) = (self.sink.rest().await?, self.md5.rest().await?);
        let temporary = self.folder.temporary(&self.version);
        let path = self.folder.path(&self.version);
        let syncs = self.folder.0.syncs;
        let finished = spawn_blocking(move || {
            md5.update(&piece);
            sink.take(&piece, temporary)?;
            let Sink { file, size } = *sink;
            if let Some(file) = file {
                file.settle(&path, syncs)?;
            }
            let md5 = md5.finalize();
            let md5 = md5.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(Written { size, md5 })
        });
        finished.await.map_err(io::Error::other)?
    }
}

impl Sink {
    /// Takes a piece; the first one makes the file.
    fn take(&mut self, piece: &Bytes, path: PathBuf) -> io::Result<()> {
        let temporary = match &mut self.file {
            Some(temporary) => temporary,
            file => file.insert(Temporary::create(path)?),
        };
        temporary.file.write_all(piece)?;
        self.size += piece.len() as u64;
        Ok(())
    }
}

/// A file that goes when nobody settles it.
struct Temporary {
    file: File,
    path: PathBuf,
    is_settled: bool,
}

impl Temporary {
    fn create(path: PathBuf) -> io::Result<Self> {
        let create = || File::options().write(true).create_new(true).open(&path);
        let file = create().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => make_parents(&path, false).and_then(|()| create()),
            _ => Err(error),
        })?;
        Ok(Self {
            file,
            path,
            is_settled: false,
        })
    }

    /// Moves the file to where it stays, so that no crash can undo it.
    fn settle(mut self, path: &Path, syncs: bool) -> io::Result<()> {
        if syncs {
            self.file.sync_data()?;
        }
        make_parents(path, syncs)?;
        fs::rename(&self.path, path)?;
        self.is_settled = true;
        sync_parent(path, syncs)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_settled {
            _ = fs::remove_file(&self.path);
        }
    }
}

/// The kernel copies from file to file; no byte comes through this process.
fn join(
    parts: impl IntoIterator<Item = PathBuf>,
    to: &Path,
    temporary: PathBuf,
    syncs: bool,
) -> io::Result<u64> {
    let mut whole = Temporary::create(temporary)?;
    let mut size = 0;
    for part in parts {
        size += io::copy(&mut File::open(part)?, &mut whole.file)?;
    }
    whole.settle(to, syncs)?;
    Ok(size)
}

/// For a file that cannot have one more name: it has too many, or the file system knows no links.
fn copy_instead(
    error: io::Error,
    from: PathBuf,
    to: &Path,
    temporary: PathBuf,
    syncs: bool,
) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::StorageFull => Err(error),
        _ => join([from], to, temporary, syncs).map(drop),
    }
}

/// Makes the folders in which a file shall be.
pub(super) fn make_parents(path: &Path, syncs: bool) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.is_dir() => {
            make_parents(parent, syncs)?;
            match fs::create_dir(parent) {
                // Somebody else was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            sync_parent(parent, syncs)
        }
        _ => Ok(()),
    }
}

/// The name of a new file is part of its folder; so is that of a new folder.
pub(super) fn sync_parent(path: &Path, syncs: bool) -> io::Result<()> {
    match path.parent() {
        Some(parent) if syncs => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

enum Opened {
    Whole(Bytes),
    Rest(Reader),
}

fn open_at(path: &Path, range: Range<u64>) -> io::Result<Opened> {
    let mut file = File::open(path)?;
    let length = range.end.saturating_sub(range.start);
    // A user's SQL may claim more than there is.
    if file.metadata()?.len() < range.end {
        return Err(io::ErrorKind::NotFound.into());
    }
    if range.start > 0 {
        file.seek(SeekFrom::Start(range.start))?;
    }
    let mut reader = Reader { file, left: length };
    if length > SMALL {
        return Ok(Opened::Rest(reader));
    }
    let piece = reader.piece(usize::try_from(length).unwrap_or(PIECE))?;
    Ok(Opened::Whole(piece.unwrap_or_default()))
}

/// The rest of an open file. The file may be removed meanwhile; whoever reads it keeps it.
struct Reader {
    file: File,
    left: u64,
}

impl Reader {
    /// The next bytes; `None` at the end.
    fn piece(&mut self, most: usize) -> io::Result<Option<Bytes>> {
        let length = usize::try_from(self.left).map_or(most, |left| left.min(most));
        if length == 0 {
            return Ok(None);
        }
        let mut piece = Vec::with_capacity(length);
        let limit = length as u64;
        (&mut self.file).take(limit).read_to_end(&mut piece)?;
        if piece.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= limit;
        Ok(Some(piece.into()))
    }

    /// Reads one piece ahead of the socket.
    fn into_body(self) -> Body {
        let ahead = spawn_blocking(move || self.next());
        Body::from_stream(stream::try_unfold(Some(ahead), |ahead| async move {
            let Some(ahead) = ahead else { return Ok(None) };
            let Some((piece, reader)) = ahead.await.map_err(io::Error::other)?? else {
                return Ok(None);
            };
            let ahead = (reader.left > 0).then(|| spawn_blocking(move || reader.next()));
            Ok::<_, io::Error>(Some((piece, ahead)))
        }))
    }

    fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        Ok(self.piece(PIECE)?.map(|piece| (piece, self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn blob(blobs: &LocalBlobs, bytes: &'static [u8]) -> Version {
        let version = Version::generate();
        let mut writer = blobs.create(&version).await.expect("a writer");
        writer
            .write(Bytes::from_static(bytes))
            .await
            .expect("taken");
        writer.finish().await.expect("settled");
        version
    }

    #[tokio::test]
    async fn what_comes_in_many_pieces_is_written_and_digested_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), false);
        let version = Version::generate();
        let sent: Vec<u8> = (0..PIECE * 5 + 7).map(|at| (at / 1000) as u8).collect();

        let mut writer = blobs.create(&version).await.expect("a writer");
        for part in sent.chunks(PIECE / 3) {
            let part = Bytes::copy_from_slice(part);
            writer.write(part).await.expect("taken");
        }
        let written = writer.finish().await.expect("settled");

        let digest = Md5::digest(&sent);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((written.size, written.md5), (sent.len() as u64, digest));
        assert_eq!(fs::read(blobs.path(&version)).expect("a file"), sent);
    }

    #[tokio::test]
    async fn parts_become_one_blob_in_their_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), true);
        let one = blob(&blobs, b"one ").await;
        let two = blob(&blobs, b"two").await;
        let whole = Version::generate();

        let size = blobs.join(&[one, two], &whole).await.expect("joined");

        assert_eq!(size, Some(7));
        let found = fs::read(blobs.path(&whole)).expect("a file");
        assert_eq!(found, b"one two");
        assert_eq!(fs::read(blobs.path(&one)).expect("kept"), b"one ");
    }

    #[tokio::test]
    async fn a_file_that_can_have_no_further_name_is_copied() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), true);
        let source = blob(&blobs, b"one").await;
        let copy = Version::generate();
        let (from, to, temporary) = (
            blobs.path(&source),
            blobs.path(&copy),
            blobs.temporary(&copy),
        );

        let error = io::ErrorKind::TooManyLinks.into();
        copy_instead(error, from.clone(), &to, temporary.clone(), true).expect("copied");
        assert_eq!(fs::read(&to).expect("a file"), b"one");

        let gone = io::ErrorKind::NotFound.into();
        assert!(copy_instead(gone, from, &to, temporary, true).is_err());
    }

    #[tokio::test]
    async fn what_lacks_a_part_is_no_blob() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), false);
        let one = blob(&blobs, b"one").await;
        let whole = Version::generate();

        let joined = blobs.join(&[one, Version::generate()], &whole).await;

        assert_eq!(joined.expect("no failure"), None);
        assert!(!blobs.path(&whole).exists() && !blobs.temporary(&whole).exists());
    }
}
