//! Where the blobs of all projects are.

use std::{io, path::PathBuf};

use plinth_project::ProjectRef;
use tokio_util::task::TaskTracker;

use super::{
    backend::Blobs,
    local::LocalBlobs,
    s3::{S3Blobs, S3Store},
};

/// Where the blobs of all projects are.
#[derive(Debug, Clone)]
pub enum BlobStore {
    /// In a folder of this machine, a subfolder for each project.
    Local {
        /// The folder.
        folder: PathBuf,
        /// Whether a file counts as stored only once it is on disk.
        fsync: bool,
    },
    /// In a bucket of an S3 store, below a prefix for each project.
    S3(S3Store),
}

impl BlobStore {
    /// The blobs of a project, which need not be open. `tasks` runs what must be done although
    /// no request waits for it.
    pub(crate) fn blobs(&self, project: &ProjectRef, tasks: TaskTracker) -> Blobs {
        let project = project.as_str();
        match self {
            Self::Local { folder, fsync } => {
                Blobs::Local(LocalBlobs::new(folder.join(project), *fsync))
            }
            Self::S3(store) => Blobs::S3(S3Blobs::new(store.clone(), project, tasks)),
        }
    }

    /// Removes all blobs of a project. That there are none is no failure.
    pub(crate) async fn remove_project(
        &self,
        project: &ProjectRef,
        tasks: TaskTracker,
    ) -> io::Result<()> {
        match self {
            Self::Local { folder, .. } => {
                let folder = folder.join(project.as_str());
                match tokio::fs::remove_dir_all(folder).await {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
            Self::S3(store) => {
                let blobs = S3Blobs::new(store.clone(), project.as_str(), tasks);
                blobs.clear().await
            }
        }
    }
}
