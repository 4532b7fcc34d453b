//! A store in a folder, for command-line tools and desktop programs.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::blocking::blocking;
use super::{SessionStore, StoreError};
use crate::runtime::BoxFuture;

/// Stores each key in a file of its own, readable by its owner only (0600, in a folder of 0700).
///
/// Several processes may share the folder: files are replaced atomically. Tokens are stored in clear text, as by
/// most command-line tools.
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: PathBuf,
}

impl FileStore {
    /// Uses this folder, which is created when the first key is set.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(file_name(key))
    }
}

impl SessionStore for FileStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let path = self.path(key);
        Box::pin(blocking(move || match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }))
    }

    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        let (folder, path) = (self.folder.clone(), self.path(key));
        Box::pin(blocking(move || write(&folder, &path, &text)))
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let path = self.path(key);
        Box::pin(blocking(move || match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }))
    }
}

/// Written to a temporary file and renamed, so that a crash leaves the old text or the new one.
fn write(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let beside = folder.join(format!(".{}-{number}.tmp", std::process::id()));
    make_private_folder(folder)?;
    let written = create_private(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        _ = fs::remove_file(&beside);
    }
    written
}

fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A unique file name per key that stays inside the folder.
fn file_name(key: &str) -> String {
    let mut name = String::with_capacity(key.len() + 5);
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => _ = write!(name, "%{byte:02X}"),
        }
    }
    name.push_str(".json");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_folder() {
        assert_eq!(file_name("sb-a-auth-token"), "sb-a-auth-token.json");
        assert_eq!(file_name("../x/y"), "%2E%2E%2Fx%2Fy.json");
        assert_eq!(file_name("sb-[::1]"), "sb-%5B%3A%3A1%5D.json");
    }

    #[tokio::test]
    async fn texts_come_back_and_only_the_owner_may_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::new(folder.path().join("sessions"));

        assert_eq!(store.get("k").await.unwrap(), None);
        store.set("k", "one".to_owned()).await.unwrap();
        store.set("k", "two".to_owned()).await.unwrap();

        assert_eq!(store.get("k").await.unwrap().as_deref(), Some("two"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&store.path("k")), 0o600);
            assert_eq!(mode(&store.folder), 0o700);
        }
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1);

        store.remove("k").await.unwrap();
        store.remove("k").await.unwrap();
        assert_eq!(store.get("k").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_used_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();

        let store = FileStore::new(file.join("below"));

        assert!(store.set("k", String::new()).await.is_err());
    }
}
