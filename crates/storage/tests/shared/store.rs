//! The blob store of a test: a folder, or with `PLINTH_TEST_STORE=s3` a real S3 server.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use plinth_settings::Secret;
use plinth_storage::{BlobStore, ImageRendererConfig, S3Store, S3StoreConfig, StorageService};
use plinth_teststore::{ACCESS_KEY, BUCKET, SECRET_KEY, TestStore};
use tempfile::TempDir;

/// The smallest part of S3.
const PART: u64 = 5 * 1024 * 1024;

/// A store for one test.
pub(crate) enum StoreFixture {
    Local { folder: TempDir, fsync: bool },
    S3(TestStore),
}

impl StoreFixture {
    pub(crate) async fn start(fsync: bool) -> Self {
        match std::env::var("PLINTH_TEST_STORE").as_deref() {
            Ok("s3") => Self::S3(TestStore::start().await.expect("a server")),
            Ok(other) => panic!("PLINTH_TEST_STORE={other} is unknown"),
            Err(_) => Self::Local {
                folder: TempDir::new().expect("a folder"),
                fsync,
            },
        }
    }

    /// The service over this store; rendered images are cached in `folder`.
    pub(crate) fn service(&self, folder: &Path) -> StorageService {
        let images = ImageRendererConfig {
            folder: folder.join("renditions"),
            cache_bytes: 1024 * 1024,
            workers: None,
            max_memory: 256 * 1024 * 1024,
        };
        StorageService::new(self.open(), &images)
    }

    fn open(&self) -> BlobStore {
        match self {
            Self::Local { folder, fsync } => BlobStore::Local {
                folder: folder.path().join("files"),
                fsync: *fsync,
            },
            Self::S3(server) => {
                let config = S3StoreConfig {
                    endpoint: Some(server.url().parse().expect("a URL")),
                    region: None,
                    bucket: BUCKET.to_owned(),
                    prefix: Some("files".to_owned()),
                    forces_path_style: false,
                    access_key: Secret::new(ACCESS_KEY),
                    secret_key: Secret::new(SECRET_KEY),
                    part_size: PART,
                    timeout: Duration::from_secs(10),
                };
                BlobStore::S3(S3Store::new(&config).expect("good settings"))
            }
        }
    }

    /// The folder with everything that the store has, to look for leftovers.
    pub(crate) fn folder(&self) -> PathBuf {
        match self {
            Self::Local { folder, .. } => folder.path().to_owned(),
            Self::S3(server) => server.files(),
        }
    }

    /// All files of all projects.
    pub(crate) fn all(&self) -> Vec<PathBuf> {
        files_below(&self.folder())
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        match entry.path() {
            path if path.is_dir() => files.extend(files_below(&path)),
            path => files.push(path),
        }
    }
    files
}
