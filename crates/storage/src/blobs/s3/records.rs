//! Records of unfinished uploads, as small objects beside the blobs.

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

use super::{blobs::S3Blobs, error::to_io_error};
use crate::blobs::version::Version;

const UPLOAD: &str = "upload.";
const CHECKPOINT: &str = "at.";
/// Delays before the attempts to abort a multipart upload.
const ABORT_DELAYS: [Duration; 4] = [
    Duration::ZERO,
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_secs(1),
];

/// The records of one blob.
pub(super) struct UploadRecords {
    pub(super) version: Version,
    /// How far it has come; `None` for one that arrives in a single request.
    pub(super) offset: Option<u64>,
    /// When the last of them was written.
    pub(super) modified: SystemTime,
    paths: Vec<Path>,
}

impl UploadRecords {
    /// One of them; `None` for objects of others.
    fn read(record: ObjectMeta) -> Option<Self> {
        let (version, offset) = parse_path(&record.location)?;
        Some(Self {
            version,
            offset,
            modified: SystemTime::from(record.last_modified),
            paths: vec![record.location],
        })
    }

    fn add(&mut self, other: Self) {
        self.offset = self.offset.max(other.offset);
        self.modified = self.modified.max(other.modified);
        self.paths.extend(other.paths);
    }
}

impl S3Blobs {
    /// Records the id of a multipart upload into that blob.
    pub(super) async fn record_upload(&self, version: &Version, upload: &str) -> io::Result<()> {
        let name = format!("{UPLOAD}{}", Uuid::new_v4());
        let path = self.records_path(version).join(name);
        self.put(&path, upload.to_owned().into()).await
    }

    /// Where the checkpoint of a growing blob at that offset is.
    pub(super) fn checkpoint_path(&self, version: &Version, offset: u64) -> Path {
        self.records_path(version)
            .join(format!("{CHECKPOINT}{offset:020}"))
    }

    /// Removes all records of a blob, and aborts its multipart uploads except the one that was
    /// completed.
    pub(super) async fn clean_up(
        &self,
        version: &Version,
        completed: Option<&str>,
    ) -> io::Result<()> {
        let mut listed = self.client().list(Some(&self.records_path(version)));
        while let Some(record) = listed.try_next().await.map_err(to_io_error)? {
            self.remove_record(version, &record.location, completed)
                .await?;
        }
        Ok(())
    }

    /// As [`Self::clean_up`], where a failure costs nothing but space: what is left is found by
    /// [`Self::remove_stale_uploads`].
    pub(super) async fn try_clean_up(&self, version: &Version, completed: Option<&str>) {
        if let Err(error) = self.clean_up(version, completed).await {
            tracing::warn!(%error, "cannot clean up after an upload, garbage collection will retry: {error}");
        }
    }

    /// Aborts uploads of single requests that nothing has written to for `age`, and removes old
    /// records of blobs that are complete. Unfinished resumable uploads expire by themselves.
    pub(in crate::blobs) async fn remove_stale_uploads(&self, age: Duration) -> io::Result<()> {
        let is_old = |records: &UploadRecords| {
            let elapsed = records.modified.elapsed();
            elapsed.is_ok_and(|elapsed| elapsed > age)
        };
        let mut all = pin!(self.list_records());
        while let Some(records) = all.try_next().await? {
            if !is_old(&records) {
                continue;
            }
            // The list may have had only some of them (see `list_records`).
            let Some(records) = self.find_records(&records.version).await? else {
                continue;
            };
            let is_stale = records.offset.is_none() || self.size(&records.version).await?.is_some();
            if is_stale && is_old(&records) {
                for path in &records.paths {
                    self.remove_record(&records.version, path, None).await?;
                }
            }
        }
        Ok(())
    }

    /// The records of all blobs that have any, blob by blob: stores list names in order. From a
    /// store that does not, a blob may come more than once, each time with some of its records.
    pub(super) fn list_records(
        &self,
    ) -> impl Stream<Item = io::Result<UploadRecords>> + Send + use<> {
        let prefix = Path::from(format!("{}/unfinished", self.0.prefix));
        let listed = self.client().list(Some(&prefix)).map_err(to_io_error);
        let listed = listed.try_filter_map(async |record| Ok(UploadRecords::read(record)));
        let listed = listed.fuse().boxed();
        let start = (listed, None::<UploadRecords>);
        stream::try_unfold(start, async |(mut listed, mut current)| {
            while let Some(next) = listed.try_next().await? {
                match &mut current {
                    Some(records) if records.version == next.version => records.add(next),
                    _ => {
                        if let Some(all) = current.replace(next) {
                            return Ok(Some((all, (listed, current))));
                        }
                    }
                }
            }
            Ok(current.map(|last| (last, (listed, None))))
        })
    }

    async fn find_records(&self, version: &Version) -> io::Result<Option<UploadRecords>> {
        let mut listed = self.client().list(Some(&self.records_path(version)));
        let mut all: Option<UploadRecords> = None;
        while let Some(record) = listed.try_next().await.map_err(to_io_error)? {
            match (&mut all, UploadRecords::read(record)) {
                (Some(all), Some(next)) => all.add(next),
                (None, next) => all = next,
                (Some(_), None) => {}
            }
        }
        Ok(all)
    }

    pub(super) async fn has_records(&self, version: &Version) -> io::Result<bool> {
        let mut listed = self.client().list(Some(&self.records_path(version)));
        let first = listed.try_next().await.map_err(to_io_error)?;
        Ok(first.is_some())
    }

    async fn remove_record(
        &self,
        version: &Version,
        record: &Path,
        completed: Option<&str>,
    ) -> io::Result<()> {
        let is_upload = record
            .filename()
            .is_some_and(|name| name.starts_with(UPLOAD));
        if is_upload
            && let Some(upload) = self.read_record(record).await?
            && completed != Some(upload.as_str())
        {
            self.abort(version, &upload).await?;
        }
        self.delete(record).await
    }

    /// Aborts until the store does not know the upload any more: a part in flight may have arrived
    /// after the first attempt. That it was completed or aborted already is no failure.
    async fn abort(&self, version: &Version, upload: &str) -> io::Result<()> {
        let path = self.path(version);
        let upload = upload.to_owned();
        let mut was_aborted = false;
        for delay in ABORT_DELAYS {
            sleep(delay).await;
            match self.client().abort_multipart(&path, &upload).await {
                Ok(()) => was_aborted = true,
                Err(Error::NotFound { .. }) => return Ok(()),
                // Some stores respond like this for an upload that does not exist.
                Err(Error::PermissionDenied { .. }) if was_aborted => return Ok(()),
                Err(error) => return Err(to_io_error(error)),
            }
        }
        // Some stores report success however often they are asked.
        Ok(())
    }

    async fn read_record(&self, path: &Path) -> io::Result<Option<String>> {
        let found = match self.client().get(path).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(to_io_error(error)),
        };
        let bytes = found.bytes().await.map_err(to_io_error)?;
        Ok(String::from_utf8(bytes.into()).ok())
    }

    fn records_path(&self, version: &Version) -> Path {
        Path::from(format!("{}/unfinished/{version}", self.0.prefix))
    }
}

/// The blob of a record, and for a checkpoint its offset.
fn parse_path(path: &Path) -> Option<(Version, Option<u64>)> {
    let (folder, record) = path.as_ref().rsplit_once('/')?;
    let (_, version) = folder.rsplit_once('/')?;
    let offset = record.strip_prefix(CHECKPOINT);
    Some((
        Version::parse(version)?,
        offset.and_then(|offset| offset.parse().ok()),
    ))
}
