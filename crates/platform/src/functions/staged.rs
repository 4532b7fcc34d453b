//! Source files on disk.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use uuid::Uuid;

use super::{SourceFile, path};

/// A temporary folder of source files, removed on drop.
pub(super) struct StagedFolder(PathBuf);

impl StagedFolder {
    /// Writes the files into a new folder of mode 0700.
    pub(super) async fn write(files: &[SourceFile]) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("plinth-deploy-{}", Uuid::new_v4()));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let staged = Self(folder);
        write_files(&staged.0, files.to_vec()).await?;
        Ok(staged)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!("removing {} failed: {error}", self.0.display());
        }
    }
}

/// Writes files below a folder. Paths are validated again, because the rows may have been changed by
/// something else.
pub(super) async fn write_files(folder: &Path, files: Vec<SourceFile>) -> io::Result<()> {
    let folder = folder.to_owned();
    let write = move || {
        for file in files {
            let path = path::normalized(&file.path).map_err(io::Error::other)?;
            let target = folder.join(path);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(target, &file.content)?;
        }
        Ok(())
    };
    tokio::task::spawn_blocking(write).await?
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn file(path: &str) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            content: Bytes::from_static(b"1"),
        }
    }

    #[tokio::test]
    async fn a_staged_folder_ends_with_its_use() {
        let staged = StagedFolder::write(&[file("a/b.ts"), file("c.ts")]).await;
        let staged = staged.expect("a folder");
        let folder = staged.path().to_owned();
        assert_eq!(fs::read(folder.join("a/b.ts")).expect("a file"), b"1");

        drop(staged);

        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn rows_that_lead_elsewhere_are_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).expect("a folder");

        let written = write_files(&inner, vec![file("../escaped.ts")]).await;

        assert!(written.is_err());
        assert!(!folder.path().join("escaped.ts").exists());
    }
}
