//! A cache of rendered images on disk, of limited size; the least used are evicted first.
//!
//! A name consists of the version of the source and the transformation, so an entry is never out of
//! date: a replaced source has another version.

use std::{
    fs, io,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
};

use bytes::Bytes;
use moka::{future::Cache, notification::RemovalCause};
use tokio::task::spawn_blocking;
use tokio_util::task::AbortOnDropHandle;

use super::encode::{Format, Rendered};
use crate::error::StorageError;

/// The file name of a rendition, without its extension.
pub(crate) type RenditionName = Arc<str>;

/// A file in the cache.
#[derive(Debug, Clone)]
struct CachedFile {
    format: Format,
    size: u32,
}

/// The cache. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RenditionCache {
    folder: Arc<Path>,
    files: Files,
    /// Adds what an earlier run left; ends with the cache.
    _loading: Arc<AbortOnDropHandle<()>>,
}

type Files = Cache<RenditionName, CachedFile>;

impl RenditionCache {
    /// A cache in this folder, with what an earlier run left there.
    pub(crate) fn open(folder: PathBuf, max_bytes: u64) -> Self {
        let folder: Arc<Path> = folder.into();
        let evicted_from = folder.clone();
        let files = Cache::builder()
            .max_capacity(max_bytes)
            .weigher(|_: &RenditionName, cached: &CachedFile| cached.size)
            .eviction_listener(move |name, cached, cause| {
                // The new file has the same name.
                if cause != RemovalCause::Replaced {
                    _ = fs::remove_file(path(&evicted_from, &name, cached.format));
                }
            })
            .build();
        let loading = tokio::spawn(load_existing(folder.clone(), files.clone()));
        Self {
            folder,
            files,
            _loading: Arc::new(AbortOnDropHandle::new(loading)),
        }
    }

    /// The image of that name; `render` makes it if it is not cached. Concurrent requests wait for
    /// one rendering.
    pub(crate) async fn get_or_render(
        &self,
        name: &RenditionName,
        render: impl Future<Output = Result<Rendered, StorageError>>,
    ) -> Result<(Bytes, Format), Arc<StorageError>> {
        let mut render = pin!(render);
        let mut rendered = None;
        let cached = self
            .files
            .try_get_with(name.clone(), async {
                let Rendered { bytes, format } = render.as_mut().await?;
                let cached = CachedFile {
                    format,
                    size: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                };
                let bytes = Bytes::from(bytes);
                // With a full disk the image is served all the same.
                if let Err(error) = self.write(name, format, bytes.clone()).await {
                    tracing::warn!(%error, "cannot write a rendered image to the cache: {error}");
                }
                rendered = Some(bytes);
                Ok::<_, StorageError>(cached)
            })
            .await?;
        if let Some(bytes) = rendered {
            return Ok((bytes, cached.format));
        }
        match self.read(name, cached.format).await {
            Ok(bytes) => Ok((bytes, cached.format)),
            // It could not be written, or the folder was cleared.
            Err(_) => {
                self.files.invalidate(name).await;
                let Rendered { bytes, format } = render.await?;
                Ok((bytes.into(), format))
            }
        }
    }

    async fn write(&self, name: &RenditionName, format: Format, bytes: Bytes) -> io::Result<()> {
        let path = path(&self.folder, name, format);
        let written = spawn_blocking(move || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            // Renamed into place: a crash must not leave half a file.
            let unfinished = path.with_extension("part");
            fs::write(&unfinished, &bytes)?;
            fs::rename(&unfinished, &path)
        });
        written.await.map_err(io::Error::other)?
    }

    async fn read(&self, name: &RenditionName, format: Format) -> io::Result<Bytes> {
        let path = path(&self.folder, name, format);
        let read = spawn_blocking(move || fs::read(path)).await;
        read.map_err(io::Error::other)?.map(Bytes::from)
    }
}

/// Adds the files that an earlier run left.
async fn load_existing(folder: Arc<Path>, files: Files) {
    let found = spawn_blocking(move || scan(&folder)).await;
    for (name, cached) in found.unwrap_or_default() {
        files.insert(name, cached).await;
    }
}

fn path(folder: &Path, name: &str, format: Format) -> PathBuf {
    let first = name.get(..2).unwrap_or("00");
    folder
        .join(first)
        .join(format!("{name}.{}", format.extension()))
}

fn scan(folder: &Path) -> Vec<(RenditionName, CachedFile)> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries(folder).flat_map(|folder| entries(&folder.path()).collect::<Vec<_>>()) {
        let path = entry.path();
        let text =
            |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
        let (Some(name), Some(extension)) = (text(path.file_stem()), text(path.extension())) else {
            continue;
        };
        let format = Format::ALL
            .into_iter()
            .find(|format| format.extension() == extension);
        match (format, entry.metadata()) {
            (Some(format), Ok(metadata)) => {
                let size = u32::try_from(metadata.len()).unwrap_or(u32::MAX);
                found.push((RenditionName::from(name), CachedFile { format, size }));
            }
            _ => _ = fs::remove_file(&path),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(cache: &RenditionCache, text: &str) -> Bytes {
        let render = async {
            Ok(Rendered {
                bytes: text.into(),
                format: Format::Png,
            })
        };
        let got = cache
            .get_or_render(&RenditionName::from("abc"), render)
            .await;
        got.expect("an image").0
    }

    #[tokio::test]
    async fn an_image_is_rendered_again_where_its_file_was_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let cached = folder.path().join("cache");
        let cache = RenditionCache::open(cached.clone(), 1024);
        assert_eq!(get(&cache, "one").await, "one");
        assert_eq!(get(&cache, "two").await, "one", "it is cached");

        fs::remove_dir_all(&cached).expect("cleared");
        assert_eq!(get(&cache, "three").await, "three");

        // Where nothing can be written, nothing is cached, and images are served all the same.
        _ = fs::remove_dir_all(&cached);
        fs::write(&cached, "no folder").expect("written");
        for text in ["four", "five"] {
            assert_eq!(get(&cache, text).await, text);
        }
    }
}
