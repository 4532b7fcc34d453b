//! The buckets of `config.toml`, and the files of a project's folder that are uploaded into them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bytes::{Bytes, BytesMut};
use md5::{Digest, Md5};
use serde_json::json;
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _},
    task::spawn_blocking,
};

use crate::{
    blobs::{ByteSource, receive},
    error::StorageError,
    hex::hex,
    objects::{NewObject, UserMetadata, commit, new_metadata},
    request::{ObjectPath, RequestContext, check_key, check_new_bucket, check_type},
};

/// Bytes per read.
const CHUNK_BYTES: usize = 256 * 1024;

/// A bucket as `config.toml` describes it.
#[derive(Debug, Clone)]
pub struct SeedBucket {
    /// Its name.
    pub id: String,
    /// Whether anyone may read it.
    pub is_public: bool,
    /// Its own limit, if it has one.
    pub file_size_limit: Option<u64>,
    /// MIME types that it accepts; empty means all.
    pub allowed_mime_types: Vec<String>,
    /// A folder whose files are uploaded into it.
    pub files: Option<PathBuf>,
}

/// Why a bucket was not created, or a file not uploaded.
#[derive(Debug, thiserror::Error)]
#[error("storage.buckets.{bucket}: {reason}")]
pub struct SeedError {
    bucket: String,
    reason: String,
}

/// Creates the bucket as described, and uploads the files into it that are new or changed; gives
/// how many.
pub(crate) async fn seed_bucket(
    context: &RequestContext,
    bucket: &SeedBucket,
) -> Result<usize, SeedError> {
    let seeded = seed(context, bucket).await;
    seeded.map_err(|error| SeedError {
        bucket: bucket.id.clone(),
        reason: error.to_string(),
    })
}

async fn seed(context: &RequestContext, bucket: &SeedBucket) -> Result<usize, StorageError> {
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
        count += usize::from(upload(context, bucket, &folder, &path).await?);
    }
    Ok(count)
}

/// Uploads a file unless the bucket has it already; `true` if it did.
async fn upload(
    context: &RequestContext,
    bucket: &SeedBucket,
    folder: &Path,
    path: &Path,
) -> Result<bool, StorageError> {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let segments: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    let target = ObjectPath {
        bucket: bucket.id.clone(),
        key: segments.join("/"),
    };
    check_key(&target.key, context.config.key_rules)?;
    let content_type = mime_guess::from_path(path)
        .first_or_octet_stream()
        .to_string();
    check_type(&content_type, &bucket.allowed_mime_types)?;
    let mut file = SeedFile::open(path).await?;
    let service_limit = context.config.file_size_limit;
    let bucket_limit = bucket.file_size_limit.unwrap_or(service_limit);
    let limit = bucket_limit.min(service_limit);
    if file.size > limit {
        return Err(StorageError::too_large());
    }

    const SQL: &str =
        "select metadata->>'eTag' as etag from storage.objects where bucket_id = $1 and name = $2";
    let rows = context
        .as_service_role()
        .read_only()
        .query(SQL, &[&target.bucket, &target.key])
        .await?;
    let stored: Option<String> = rows.first().and_then(|row| row.get("etag"));
    if stored.is_some() && stored == Some(format!("\"{}\"", file.digest().await?)) {
        return Ok(false);
    }
    let db = &context.project.db;
    let received = receive(db, &context.blobs, &mut file, limit).await?;
    let (version, written) = received.finish(db).await?;
    let object = NewObject {
        path: &target,
        version,
        metadata: new_metadata(&written, &content_type, "max-age=3600", None, context.now),
        user_metadata: UserMetadata::Given(Some(json!({}))),
        owner: None,
        may_replace: true,
    };
    commit(context, object).await?;
    Ok(true)
}

/// A file of the folder, read in chunks: it may be larger than memory.
struct SeedFile {
    file: File,
    path: PathBuf,
    size: u64,
}

impl SeedFile {
    async fn open(path: &Path) -> Result<Self, StorageError> {
        let opened = async {
            let file = File::open(path).await?;
            let size = file.metadata().await?.len();
            Ok((file, size))
        };
        let (file, size) = opened.await.map_err(|error| unreadable(path, &error))?;
        let path = path.to_owned();
        Ok(Self { file, path, size })
    }

    /// Reads the whole file, and rewinds it.
    async fn digest(&mut self) -> Result<String, StorageError> {
        let mut md5 = Md5::new();
        while let Some(chunk) = self.next_chunk().await? {
            md5.update(&chunk);
        }
        let rewound = self.file.rewind().await;
        rewound.map_err(|error| unreadable(&self.path, &error))?;
        let digest = md5.finalize();
        Ok(hex(&digest))
    }
}

impl ByteSource for SeedFile {
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, StorageError> {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = self.file.read_buf(&mut chunk).await;
        let read = read.map_err(|error| unreadable(&self.path, &error))?;
        Ok((read > 0).then(|| chunk.freeze()))
    }
}

/// All files below a folder, sorted; without hidden ones.
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
