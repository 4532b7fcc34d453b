//! Blobs that grow over several requests, as files.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use tokio::task::spawn_blocking;

use super::{
    LocalBlobs,
    file::{create_parents, sync_parent},
    writer::LocalWriter,
};
use crate::blobs::version::Version;

impl LocalBlobs {
    pub(in crate::blobs) async fn append(
        &self,
        version: &Version,
        offset: u64,
    ) -> io::Result<Option<LocalWriter>> {
        let (staging, complete) = (self.staging(version), self.path(version));
        let fsync = self.fsync();
        let path = staging.clone();
        let opened =
            spawn_blocking(move || open_at_offset(&staging, &complete, offset, fsync)).await;
        let file = opened.map_err(io::Error::other)??;
        Ok(file.map(|file| LocalWriter::append_to(file, path, self.path(version), fsync)))
    }

    pub(in crate::blobs) async fn has_staged(
        &self,
        version: &Version,
        offset: u64,
    ) -> io::Result<bool> {
        let paths = [self.staging(version), self.path(version)];
        let found = spawn_blocking(move || {
            let has_enough =
                |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() >= offset);
            offset == 0 || paths.iter().any(|path| has_enough(path))
        });
        found.await.map_err(io::Error::other)
    }

    pub(in crate::blobs) async fn assemble(&self, version: &Version) -> io::Result<()> {
        let (staging, complete, fsync) = (self.staging(version), self.path(version), self.fsync());
        let assembled = spawn_blocking(move || {
            create_parents(&complete, fsync)?;
            match fs::rename(&staging, &complete) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && complete.is_file() => {
                    Ok(())
                }
                Err(error) => Err(error),
                Ok(()) => sync_parent(&complete, fsync),
            }
        });
        assembled.await.map_err(io::Error::other)?
    }
}

/// The file truncated to `offset` bytes, open at its end.
fn open_at_offset(
    staging: &Path,
    complete: &Path,
    offset: u64,
    fsync: bool,
) -> io::Result<Option<File>> {
    let open = || File::options().append(true).open(staging);
    let file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_parents(staging, fsync)?;
            // It was complete already, and then the row of the object was not written.
            match fs::rename(complete, staging) {
                Ok(()) => open()?,
                Err(_) if offset > 0 => return Ok(None),
                Err(_) => {
                    let mut options = File::options();
                    let file = options.append(true).create_new(true).open(staging)?;
                    sync_parent(staging, fsync)?;
                    file
                }
            }
        }
        opened => opened?,
    };
    if file.metadata()?.len() < offset {
        return Ok(None);
    }
    file.set_len(offset)?;
    Ok(Some(file))
}
