//! Whose store it is.
//!
//! An installation and a copy of it know of the same projects. If both had their bytes in one place,
//! each would collect what the other still needs. So whoever uses a place first leaves its name
//! there, and nobody else collects anything, until somebody says that the place has changed hands.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::{BlobStore, StorageService};

/// Beside the folders of projects, none of which can have this name.
const NOTE: &str = "installation.json";

/// An installation of Plinth, as it names itself in a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// Tells it from all others.
    pub id: String,
    /// Where it is, for people.
    pub home: String,
}

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Somebody else uses it.
    #[error(
        "the store of files belongs to another installation of Plinth, {home}, and each would \
         collect what the other needs; give this one a place of its own (plinth.storage.path, or \
         plinth.storage.s3.prefix), or, if the other one is gone or has moved here, start once \
         with --set plinth.storage.adopt=true"
    )]
    Foreign {
        /// Where that one is.
        home: String,
    },
    /// Files cannot be moved from where they arrive to where they stay.
    #[error(
        "{folder} is on more than one file system; its folders blobs, tmp and resumable must be \
         on one, since files are moved between them"
    )]
    Divided {
        /// The folder of a project.
        folder: PathBuf,
    },
    /// It does not answer.
    #[error("it is not known whose the store of files is: {0}")]
    Store(#[from] io::Error),
}

impl StorageService {
    /// Says that the store is ours, unless it is somebody else's; with `adopts` also then.
    pub async fn claim(&self, adopts: bool) -> Result<(), ClaimError> {
        if let BlobStore::Local { folder, .. } = self.store() {
            let folder = folder.clone();
            let divided = spawn_blocking(move || divided(&folder)).await;
            if let Some(folder) = divided.map_err(io::Error::other)? {
                return Err(ClaimError::Divided { folder });
            }
        }
        match self.owner() {
            Some(own) if adopts => Ok(self.store().leave_note(own).await?),
            _ => self.ensure_owned().await,
        }
    }

    /// Whoever would remove bytes asks first.
    pub(crate) async fn ensure_owned(&self) -> Result<(), ClaimError> {
        let Some(own) = self.owner() else {
            return Ok(());
        };
        match self.store().note().await? {
            Some(found) if found.id == own.id => Ok(()),
            Some(Installation { home, .. }) => Err(ClaimError::Foreign { home }),
            None => Ok(self.store().leave_note(own).await?),
        }
    }
}

impl BlobStore {
    async fn note(&self) -> io::Result<Option<Installation>> {
        let note = match self {
            Self::Local { folder, .. } => match tokio::fs::read(folder.join(NOTE)).await {
                Ok(note) => Some(note),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            },
            Self::S3(store) => store.note(NOTE).await?,
        };
        let read = |note: Vec<u8>| serde_json::from_slice(&note);
        Ok(note.map(read).transpose()?)
    }

    async fn leave_note(&self, own: &Installation) -> io::Result<()> {
        let note = serde_json::to_vec(own)?;
        match self {
            Self::Local { folder, .. } => {
                tokio::fs::create_dir_all(folder).await?;
                // Half a note would be nobody's.
                let new = folder.join(format!("{NOTE}.new"));
                tokio::fs::write(&new, note).await?;
                tokio::fs::rename(new, folder.join(NOTE)).await
            }
            Self::S3(store) => store.leave_note(NOTE, note).await,
        }
    }
}

/// The folder of a project from which files cannot be moved to where they stay.
#[cfg(unix)]
fn divided(store: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let projects = fs::read_dir(store).into_iter().flatten().flatten();
    let is_divided = |project: &PathBuf| {
        let places = ["blobs", "tmp", "resumable"].map(|place| project.join(place));
        let mut devices = places
            .iter()
            .filter_map(|place| Some(fs::metadata(place).ok()?.dev()));
        let first = devices.next();
        devices.any(|device| Some(device) != first)
    };
    projects.map(|entry| entry.path()).find(is_divided)
}

#[cfg(not(unix))]
fn divided(_: &Path) -> Option<PathBuf> {
    None
}
