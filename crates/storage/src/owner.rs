//! Which installation owns a store.
//!
//! An installation and a copy of it have the same projects. If both used one store, the garbage
//! collection of each would remove blobs that the other still needs. So the first installation that
//! uses a store writes a marker with its id into it, and no other one collects garbage there until
//! an operator says that the store has changed hands (`plinth.storage.adopt`).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::blobs::BlobStore;

/// Beside the folders of projects; no project can have this name.
const MARKER: &str = "installation.json";

/// An installation of Plinth, as the marker names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// Unique among installations.
    pub id: String,
    /// Where it runs, for error messages.
    pub home: String,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another installation uses it.
    #[error(
        "the file store belongs to another installation of Plinth, {home}, and the garbage \
         collection of each would remove files of the other; give this one a store of its own \
         (plinth.storage.path, or plinth.storage.s3.prefix), or, if the other one is gone or has \
         moved here, start once with --set plinth.storage.adopt=true"
    )]
    Foreign {
        /// Where that installation runs.
        home: String,
    },
    /// Files cannot be renamed into place.
    #[error(
        "{folder} is on more than one file system; its folders blobs, tmp and resumable must be \
         on one, since files are renamed between them"
    )]
    SplitFileSystem {
        /// The folder of a project.
        folder: PathBuf,
    },
    /// It cannot be reached.
    #[error("the owner of the file store cannot be determined: {0}")]
    Store(#[from] io::Error),
}

/// The store, and the installation that must have it to itself.
pub(crate) struct OwnedStore {
    store: BlobStore,
    owner: Option<Installation>,
}

impl OwnedStore {
    /// Without an owner no other node can use the store, and nothing is ever claimed.
    pub(crate) fn new(store: BlobStore, owner: Option<Installation>) -> Self {
        Self { store, owner }
    }

    pub(crate) fn store(&self) -> &BlobStore {
        &self.store
    }

    /// Marks the store as ours, unless another installation has; with `adopts` also then.
    pub(crate) async fn claim(&self, adopts: bool) -> Result<(), ClaimError> {
        if let BlobStore::Local { folder, .. } = &self.store {
            let folder = folder.clone();
            let split = spawn_blocking(move || find_split_folder(&folder)).await;
            if let Some(folder) = split.map_err(io::Error::other)? {
                return Err(ClaimError::SplitFileSystem { folder });
            }
        }
        match &self.owner {
            Some(own) if adopts => Ok(self.store.write_marker(own).await?),
            _ => self.ensure_owned().await,
        }
    }

    /// Must hold before any blob is removed.
    pub(crate) async fn ensure_owned(&self) -> Result<(), ClaimError> {
        let Some(own) = &self.owner else {
            return Ok(());
        };
        match self.store.read_marker().await? {
            Some(found) if found.id == own.id => Ok(()),
            Some(Installation { home, .. }) => Err(ClaimError::Foreign { home }),
            None => Ok(self.store.write_marker(own).await?),
        }
    }
}

impl BlobStore {
    async fn read_marker(&self) -> io::Result<Option<Installation>> {
        let marker = match self {
            Self::Local { folder, .. } => match tokio::fs::read(folder.join(MARKER)).await {
                Ok(marker) => Some(marker),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            },
            Self::S3(store) => store.read_marker(MARKER).await?,
        };
        let parse = |marker: Vec<u8>| serde_json::from_slice(&marker);
        Ok(marker.map(parse).transpose()?)
    }

    async fn write_marker(&self, own: &Installation) -> io::Result<()> {
        let marker = serde_json::to_vec(own)?;
        match self {
            Self::Local { folder, .. } => {
                tokio::fs::create_dir_all(folder).await?;
                // Renamed into place: a crash must not leave half a marker.
                let new = folder.join(format!("{MARKER}.new"));
                tokio::fs::write(&new, marker).await?;
                tokio::fs::rename(new, folder.join(MARKER)).await
            }
            Self::S3(store) => store.write_marker(MARKER, marker).await,
        }
    }
}

/// A folder of a project that spans several file systems.
#[cfg(unix)]
fn find_split_folder(store: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let projects = fs::read_dir(store).into_iter().flatten().flatten();
    let is_split = |project: &PathBuf| {
        let folders = ["blobs", "tmp", "resumable"].map(|name| project.join(name));
        let mut devices = folders
            .iter()
            .filter_map(|folder| Some(fs::metadata(folder).ok()?.dev()));
        let first = devices.next();
        devices.any(|device| Some(device) != first)
    };
    projects.map(|entry| entry.path()).find(is_split)
}

#[cfg(not(unix))]
fn find_split_folder(_: &Path) -> Option<PathBuf> {
    None
}
