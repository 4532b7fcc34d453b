//! What is on its way, or was left behind: notes beside the blobs.

use std::{
    io,
    pin::pin,
    time::{Duration, SystemTime},
};

use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use object_store::{
    Error, ObjectMeta, ObjectStore as _, ObjectStoreExt as _, multipart::MultipartStore as _,
    path::Path,
};
use tokio::time::sleep;
use uuid::Uuid;

use super::{S3Blobs, failure};
use crate::blobs::Version;

const UPLOAD: &str = "upload.";
const CHECKPOINT: &str = "at.";
/// How long is waited before a multipart upload is aborted, and aborted again.
const ABORTS: [Duration; 4] = [
    Duration::ZERO,
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_secs(1),
];

/// The notes on one blob.
pub(super) struct Notes {
    pub(super) version: Version,
    /// How far it has come; `None` for one that arrives in a single request.
    pub(super) offset: Option<u64>,
    /// When something was last noted.
    pub(super) modified: SystemTime,
    paths: Vec<Path>,
}

impl Notes {
    /// One of them; `None` for what somebody else has put there.
    fn read(note: ObjectMeta) -> Option<Self> {
        let (version, offset) = read_path(&note.location)?;
        Some(Self {
            version,
            offset,
            modified: SystemTime::from(note.last_modified),
            paths: vec![note.location],
        })
    }

    fn add(&mut self, other: Self) {
        self.offset = self.offset.max(other.offset);
        self.modified = self.modified.max(other.modified);
        self.paths.extend(other.paths);
    }
}

impl S3Blobs {
    /// A multipart upload into that blob has this id.
    pub(super) async fn note_upload(&self, version: &Version, upload: &str) -> io::Result<()> {
        let note = format!("{UPLOAD}{}", Uuid::new_v4());
        let path = self.notes(version).join(note);
        self.put(&path, upload.to_owned().into()).await
    }

    /// Where it is noted how far a growing blob is.
    pub(super) fn checkpoint_path(&self, version: &Version, offset: u64) -> Path {
        self.notes(version)
            .join(format!("{CHECKPOINT}{offset:020}"))
    }

    /// Removes all notes on a blob, and what they are about: multipart uploads other than the one
    /// that was completed.
    pub(super) async fn forget(
        &self,
        version: &Version,
        completed: Option<&str>,
    ) -> io::Result<()> {
        let mut noted = self.client().list(Some(&self.notes(version)));
        while let Some(note) = noted.try_next().await.map_err(failure)? {
            self.forget_note(version, &note.location, completed).await?;
        }
        Ok(())
    }

    /// As [`Self::forget`], where a failure costs nothing but space: what stays is found by
    /// [`Self::forget_unfinished`].
    pub(super) async fn try_to_forget(&self, version: &Version, completed: Option<&str>) {
        if let Err(error) = self.forget(version, completed).await {
            tracing::warn!(%error, "notes on an upload stay for now: {error}");
        }
    }

    /// Lets go what arrived in a single request that cannot be under way any more, and what a blob
    /// left behind that is whole since long ago. Blobs that grow have a time of their own.
    pub(in crate::blobs) async fn forget_unfinished(&self, age: Duration) -> io::Result<()> {
        let is_old = |notes: &Notes| notes.modified.elapsed().is_ok_and(|elapsed| elapsed > age);
        let mut all = pin!(self.all_notes());
        while let Some(notes) = all.try_next().await? {
            if !is_old(&notes) {
                continue;
            }
            // A store need not have listed all of them together.
            let Some(notes) = self.notes_on(&notes.version).await? else {
                continue;
            };
            let is_left = notes.offset.is_none() || self.size(&notes.version).await?.is_some();
            if is_left && is_old(&notes) {
                for path in &notes.paths {
                    self.forget_note(&notes.version, path, None).await?;
                }
            }
        }
        Ok(())
    }

    /// The notes on all blobs that have any, blob after blob: stores list names in their order. From
    /// one that does not, a blob may come more than once, each time with some of its notes.
    pub(super) fn all_notes(&self) -> impl Stream<Item = io::Result<Notes>> + Send + use<> {
        let prefix = Path::from(format!("{}/unfinished", self.0.prefix));
        let noted = self.client().list(Some(&prefix)).map_err(failure);
        let noted = noted.try_filter_map(async |note| Ok(Notes::read(note)));
        let noted = noted.fuse().boxed();
        stream::try_unfold((noted, None::<Notes>), async |(mut noted, mut begun)| {
            while let Some(next) = noted.try_next().await? {
                match &mut begun {
                    Some(notes) if notes.version == next.version => notes.add(next),
                    _ => {
                        if let Some(all) = begun.replace(next) {
                            return Ok(Some((all, (noted, begun))));
                        }
                    }
                }
            }
            Ok(begun.map(|last| (last, (noted, None))))
        })
    }

    async fn notes_on(&self, version: &Version) -> io::Result<Option<Notes>> {
        let mut noted = self.client().list(Some(&self.notes(version)));
        let mut all: Option<Notes> = None;
        while let Some(note) = noted.try_next().await.map_err(failure)? {
            match (&mut all, Notes::read(note)) {
                (Some(all), Some(next)) => all.add(next),
                (None, next) => all = next,
                (Some(_), None) => {}
            }
        }
        Ok(all)
    }

    pub(super) async fn has_notes(&self, version: &Version) -> io::Result<bool> {
        let mut noted = self.client().list(Some(&self.notes(version)));
        let first = noted.try_next().await.map_err(failure)?;
        Ok(first.is_some())
    }

    async fn forget_note(
        &self,
        version: &Version,
        note: &Path,
        completed: Option<&str>,
    ) -> io::Result<()> {
        let is_upload = note.filename().is_some_and(|name| name.starts_with(UPLOAD));
        if is_upload
            && let Some(upload) = self.read_note(note).await?
            && completed != Some(upload.as_str())
        {
            self.abort(version, &upload).await?;
        }
        self.delete(note).await
    }

    /// Until the store knows the upload no more: a part that was on its way may have arrived after
    /// the first time. That it is over already is no failure.
    async fn abort(&self, version: &Version, upload: &str) -> io::Result<()> {
        let path = self.path(version);
        let upload = upload.to_owned();
        let mut was_aborted = false;
        for pause in ABORTS {
            sleep(pause).await;
            match self.client().abort_multipart(&path, &upload).await {
                Ok(()) => was_aborted = true,
                Err(Error::NotFound { .. }) => return Ok(()),
                // Some stores let nobody touch what is not there.
                Err(Error::PermissionDenied { .. }) if was_aborted => return Ok(()),
                Err(error) => return Err(failure(error)),
            }
        }
        // There are stores that always say yes.
        Ok(())
    }

    async fn read_note(&self, path: &Path) -> io::Result<Option<String>> {
        let found = match self.client().get(path).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failure(error)),
        };
        let bytes = found.bytes().await.map_err(failure)?;
        Ok(String::from_utf8(bytes.into()).ok())
    }

    fn notes(&self, version: &Version) -> Path {
        Path::from(format!("{}/unfinished/{version}", self.0.prefix))
    }
}

/// Whose note it is, and for a checkpoint how far the blob has come.
fn read_path(path: &Path) -> Option<(Version, Option<u64>)> {
    let (folder, note) = path.as_ref().rsplit_once('/')?;
    let (_, version) = folder.rsplit_once('/')?;
    let offset = note.strip_prefix(CHECKPOINT);
    Some((
        Version::parse(version)?,
        offset.and_then(|offset| offset.parse().ok()),
    ))
}
