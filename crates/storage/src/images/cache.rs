//! Finished images on disk, up to so many bytes; those that nobody asks for go first.
//!
//! A name holds the version of the source and everything that was asked for, so nothing here is
//! ever out of date: another source is another version.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use moka::{future::Cache, notification::RemovalCause};
use tokio::task::spawn_blocking;

use super::render::{Format, Rendered};
use crate::error::StorageError;

/// One rendition: a file's name without its ending.
pub(crate) type Name = Arc<str>;

/// What is remembered of a file.
#[derive(Debug, Clone)]
struct Kept {
    format: Format,
    size: u32,
}

/// The cache. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Renditions {
    folder: Arc<Path>,
    files: Cache<Name, Kept>,
}

impl Renditions {
    /// A cache in this folder, with what is there from before.
    pub(crate) fn open(folder: PathBuf, most_bytes: u64) -> Self {
        let folder: Arc<Path> = folder.into();
        let gone_from = folder.clone();
        let files = Cache::builder()
            .max_capacity(most_bytes)
            .weigher(|_: &Name, kept: &Kept| kept.size)
            .eviction_listener(move |name, kept, cause| {
                // A file that was replaced has the same name.
                if cause != RemovalCause::Replaced {
                    _ = fs::remove_file(path(&gone_from, &name, kept.format));
                }
            })
            .build();
        let cache = Self { folder, files };
        let found = cache.clone();
        tokio::spawn(async move { found.adopt().await });
        cache
    }

    /// The image of that name; `make` makes it if nobody has. Many who ask at once wait for one.
    pub(crate) async fn get_or_make(
        &self,
        name: &Name,
        make: impl Future<Output = Result<Rendered, StorageError>>,
    ) -> Result<(Bytes, Format), Arc<StorageError>> {
        let mut made = None;
        let kept = self
            .files
            .try_get_with(name.clone(), async {
                let Rendered { bytes, format } = make.await?;
                let kept = Kept {
                    format,
                    size: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                };
                let bytes = Bytes::from(bytes);
                // A full disk costs the cache, not the image.
                if let Err(error) = self.write(name, format, bytes.clone()).await {
                    tracing::warn!(%error, "an image was not kept: {error}");
                }
                made = Some(bytes);
                Ok::<_, StorageError>(kept)
            })
            .await?;
        if let Some(bytes) = made {
            return Ok((bytes, kept.format));
        }
        match self.read(name, kept.format).await {
            Ok(bytes) => Ok((bytes, kept.format)),
            Err(error) => {
                // Somebody cleared the folder: the next one makes it again.
                self.files.invalidate(name).await;
                Err(Arc::new(StorageError::internal(error)))
            }
        }
    }

    async fn write(&self, name: &Name, format: Format, bytes: Bytes) -> io::Result<()> {
        let path = path(&self.folder, name, format);
        let written = spawn_blocking(move || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            // Whoever finds it after a crash must find all of it.
            let unfinished = path.with_extension("part");
            fs::write(&unfinished, &bytes)?;
            fs::rename(&unfinished, &path)
        });
        written.await.map_err(io::Error::other)?
    }

    async fn read(&self, name: &Name, format: Format) -> io::Result<Bytes> {
        let path = path(&self.folder, name, format);
        let read = spawn_blocking(move || fs::read(path)).await;
        read.map_err(io::Error::other)?.map(Bytes::from)
    }

    /// Takes over what an earlier run left.
    async fn adopt(&self) {
        let folder = self.folder.clone();
        let found = spawn_blocking(move || scan(&folder)).await;
        for (name, kept) in found.unwrap_or_default() {
            self.files.insert(name, kept).await;
        }
    }
}

fn path(folder: &Path, name: &str, format: Format) -> PathBuf {
    let first = name.get(..2).unwrap_or("00");
    folder
        .join(first)
        .join(format!("{name}.{}", format.extension()))
}

fn scan(folder: &Path) -> Vec<(Name, Kept)> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries(folder).flat_map(|folder| entries(&folder.path()).collect::<Vec<_>>()) {
        let path = entry.path();
        let text =
            |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
        let (Some(name), Some(ending)) = (text(path.file_stem()), text(path.extension())) else {
            continue;
        };
        let format = Format::ALL
            .into_iter()
            .find(|format| format.extension() == ending);
        match (format, entry.metadata()) {
            (Some(format), Ok(metadata)) => {
                let size = u32::try_from(metadata.len()).unwrap_or(u32::MAX);
                found.push((Name::from(name), Kept { format, size }));
            }
            _ => _ = fs::remove_file(&path),
        }
    }
    found
}
