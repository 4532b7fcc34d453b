//! The buckets that a project's folder describes, with the files that it puts into them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use http::Request;
use md5::{Digest, Md5};
use plinth_project::Project;
use serde_json::json;
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _},
    task::spawn_blocking,
};

use crate::{
    StorageConfig, StorageService,
    blobs::{Source, receive},
    error::StorageError,
    hex::hex,
    objects::{Arrival, UserMetadata, commit, metadata},
    request::{Context, Place, check_key, check_new_bucket, check_type},
};

/// What is read of a file at once.
const PIECE: usize = 256 * 1024;

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
    pub(crate) fn own_context(&self, project: &Project) -> Arc<Context> {
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
    let mut file = SeedFile::open(path).await?;
    let most = context.config.file_size_limit;
    let limit = bucket.file_size_limit.map_or(most, |own| own.min(most));
    if file.size > limit {
        return Err(StorageError::too_large());
    }

    const SQL: &str =
        "select metadata->>'eTag' as etag from storage.objects where bucket_id = $1 and name = $2";
    let rows = context
        .as_service_role()
        .read_only()
        .query(SQL, &[&place.bucket, &place.key])
        .await?;
    let stored: Option<String> = rows.first().and_then(|row| row.get("etag"));
    if stored.is_some() && stored == Some(format!("\"{}\"", file.digest().await?)) {
        return Ok(false);
    }
    let db = &context.project.db;
    let arrived = receive(db, &context.blobs, &mut file, limit).await?;
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

/// A file of the folder, read piece by piece: it may be larger than memory.
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

    /// Reads it once, and leaves it as if nobody had.
    async fn digest(&mut self) -> Result<String, StorageError> {
        let mut md5 = Md5::new();
        while let Some(piece) = self.next().await? {
            md5.update(&piece);
        }
        let rewound = self.file.rewind().await;
        rewound.map_err(|error| unreadable(&self.path, &error))?;
        let digest = md5.finalize();
        Ok(hex(&digest))
    }
}

impl Source for SeedFile {
    async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
        let mut piece = BytesMut::with_capacity(PIECE);
        let read = self.file.read_buf(&mut piece).await;
        let read = read.map_err(|error| unreadable(&self.path, &error))?;
        Ok((read > 0).then(|| piece.freeze()))
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
