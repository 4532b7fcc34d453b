//! Finished images on disk, up to so many bytes; those that nobody asks for go first.
//!
//! A name holds the version of the source and everything that was asked for, so nothing here is
//! ever out of date: another source is another version.

use std::{
    fs, io,
    path::{Path, PathBuf},
    pin::pin,
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
        let mut make = pin!(make);
        let mut made = None;
        let kept = self
            .files
            .try_get_with(name.clone(), async {
                let Rendered { bytes, format } = make.as_mut().await?;
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
            // It could not be written, or somebody has cleared the folder.
            Err(_) => {
                self.files.invalidate(name).await;
                let Rendered { bytes, format } = make.await?;
                Ok((bytes.into(), format))
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(cache: &Renditions, text: &str) -> Bytes {
        let make = async {
            Ok(Rendered {
                bytes: text.into(),
                format: Format::Png,
            })
        };
        let got = cache.get_or_make(&Name::from("abc"), make).await;
        got.expect("an image").0
    }

    #[tokio::test]
    async fn an_image_is_made_again_where_its_file_has_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = folder.path().join("renditions");
        let cache = Renditions::open(kept.clone(), 1024);
        assert_eq!(get(&cache, "one").await, "one");
        assert_eq!(get(&cache, "two").await, "one", "it is kept");

        fs::remove_dir_all(&kept).expect("cleared");
        assert_eq!(get(&cache, "three").await, "three");

        // Where nothing can be written, nothing is kept, and all is well otherwise.
        _ = fs::remove_dir_all(&kept);
        fs::write(&kept, "no folder").expect("written");
        for text in ["four", "five"] {
            assert_eq!(get(&cache, text).await, text);
        }
    }
}
