//! The buckets that a project's folder describes, with the files that it puts into them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use http::Request;
use md5::{Digest, Md5};
use plinth_project::Project;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::{
    StorageConfig, StorageService,
    blobs::{Source, receive},
    error::StorageError,
    hex::hex,
    objects::{Arrival, UserMetadata, commit, metadata},
    request::{Context, Place, check_key, check_new_bucket, check_type},
};

/// A bucket as `config.toml` describes it.
#[derive(Debug, Clone)]
pub struct SeedBucket {
    /// Its name.
    pub id: String,
    /// Whether anybody may read it.
    pub is_public: bool,
    /// Its own limit, if it has one.
    pub file_size_limit: Option<u64>,
    /// Types that it takes; empty means all.
    pub allowed_mime_types: Vec<String>,
    /// A folder whose files go into it.
    pub files: Option<PathBuf>,
}

/// Why a bucket was not made, or a file not put into it.
#[derive(Debug, thiserror::Error)]
#[error("storage.buckets.{bucket}: {reason}")]
pub struct SeedError {
    bucket: String,
    reason: String,
}

impl StorageService {
    /// Makes the bucket as described, and puts the files into it that are new or changed. Gives
    /// how many.
    pub async fn seed(&self, project: &Project, bucket: &SeedBucket) -> Result<usize, SeedError> {
        let context = self.own_context(project);
        let sown = sow(&context, bucket).await;
        sown.map_err(|reason| SeedError {
            bucket: bucket.id.clone(),
            reason: reason.to_string(),
        })
    }

    /// For work that no request asked for.
    fn own_context(&self, project: &Project) -> Arc<Context> {
        let (parts, ()) = Request::new(()).into_parts();
        let config = project.config::<StorageConfig>();
        let blobs = self.blobs(project);
        let operation = "storage.object.upload";
        let context = Context::new(
            project.clone(),
            config,
            blobs,
            parts,
            operation,
            self.tasks(),
        );
        Arc::new(context)
    }
}

async fn sow(context: &Context, bucket: &SeedBucket) -> Result<usize, StorageError> {
    check_new_bucket(&bucket.id)?;
    const SQL: &str = "
        insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
        values ($1, $1, $2, $3, $4)
        on conflict (id) do update set
            public = excluded.public,
            file_size_limit = excluded.file_size_limit,
            allowed_mime_types = excluded.allowed_mime_types,
            updated_at = now()
        where (buckets.public, buckets.file_size_limit, buckets.allowed_mime_types)
            is distinct from
            (excluded.public, excluded.file_size_limit, excluded.allowed_mime_types)
    ";
    let limit = bucket
        .file_size_limit
        .and_then(|limit| i64::try_from(limit).ok());
    let types = Some(&bucket.allowed_mime_types).filter(|types| !types.is_empty());
    context
        .as_service_role()
        .query(SQL, &[&bucket.id, &bucket.is_public, &limit, &types])
        .await?;
    let Some(folder) = bucket.files.clone() else {
        return Ok(0);
    };
    let root = folder.clone();
    let found = spawn_blocking(move || files_below(&root)).await;
    let found = found.map_err(StorageError::internal)?;
    let found = found.map_err(|error| unreadable(&folder, &error))?;
    let mut count = 0;
    for path in found {
        count += usize::from(put(context, bucket, &folder, &path).await?);
    }
    Ok(count)
}

/// Puts one file into the bucket unless it is there already; `true` if it did.
async fn put(
    context: &Context,
    bucket: &SeedBucket,
    folder: &Path,
    path: &Path,
) -> Result<bool, StorageError> {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let segments: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    let place = Place {
        bucket: bucket.id.clone(),
        key: segments.join("/"),
    };
    check_key(&place.key)?;
    let content_type = mime_guess::from_path(path)
        .first_or_octet_stream()
        .to_string();
    check_type(&content_type, &bucket.allowed_mime_types)?;
    let read = path.to_owned();
    let bytes = spawn_blocking(move || fs::read(read)).await;
    let bytes = bytes.map_err(StorageError::internal)?;
    let bytes = Bytes::from(bytes.map_err(|error| unreadable(path, &error))?);

    const SQL: &str =
        "select metadata->>'eTag' as etag from storage.objects where bucket_id = $1 and name = $2";
    let rows = context
        .as_service_role()
        .read_only()
        .query(SQL, &[&place.bucket, &place.key])
        .await?;
    let stored: Option<String> = rows.first().and_then(|row| row.get("etag"));
    let digest = hex(&Md5::digest(&bytes));
    if stored == Some(format!("\"{digest}\"")) {
        return Ok(false);
    }
    let most = context.config.file_size_limit;
    let limit = bucket.file_size_limit.map_or(most, |own| own.min(most));
    let db = &context.project.db;
    let arrived = receive(db, &context.blobs, &mut Whole(Some(bytes)), limit).await?;
    let (version, written) = arrived.settle(db).await?;
    let arrival = Arrival {
        place: &place,
        version,
        metadata: metadata(&written, &content_type, "max-age=3600", None, context.now),
        user_metadata: UserMetadata::Given(Some(json!({}))),
        owner: None,
        may_replace: true,
    };
    commit(context, arrival).await?;
    Ok(true)
}

/// A file that is in memory already.
struct Whole(Option<Bytes>);

impl Source for Whole {
    async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
        Ok(self.0.take())
    }
}

/// All files below a folder, in order; hidden ones are none of ours.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.file_type()? {
                _ if is_hidden => {}
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

fn unreadable(path: &Path, error: &io::Error) -> StorageError {
    StorageError::invalid_request(format!("{} cannot be read: {error}", path.display()))
}
