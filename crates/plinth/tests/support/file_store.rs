//! Where the files of a test's server are: in its folder, or with `PLINTH_TEST_STORE=s3` on a real
//! S3 server that the test starts.

use std::path::PathBuf;

use plinth_teststore::{ACCESS_KEY, BUCKET, FaultInjector, SECRET_KEY, TestStore};
use tokio::runtime::Runtime;

use super::{Folder, Instance};

/// A store of a test's own.
pub(crate) enum FileStore {
    Disk(PathBuf),
    S3 {
        server: TestStore,
        _runtime: Runtime,
    },
}

impl FileStore {
    /// Every server in this folder keeps files there, and every command looks for them there.
    pub(crate) fn of(folder: &Folder) -> Self {
        match std::env::var("PLINTH_TEST_STORE").as_deref() {
            Ok("s3") => Self::on_s3(folder),
            Ok(other) => panic!("PLINTH_TEST_STORE={other} is unknown"),
            Err(_) => Self::Disk(folder.state().join("files")),
        }
    }

    /// On S3, whatever the environment says.
    pub(crate) fn on_s3(folder: &Folder) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime for a server");
        let server = runtime.block_on(TestStore::start()).expect("a server");
        folder.write("supabase/config.toml", &settings(&server.url()));
        Self::S3 {
            server,
            _runtime: runtime,
        }
    }

    /// The folder in which the store has everything of the default project.
    pub(crate) fn folder(&self, server: &Instance<'_>) -> PathBuf {
        self.folder_of(server.value("PLINTH_REF"))
    }

    /// As [`Self::folder`], of a project with that ref.
    pub(crate) fn folder_of(&self, reference: &str) -> PathBuf {
        match self {
            Self::Disk(files) => files.join(reference),
            Self::S3 { server, .. } => server.files().join("files").join(reference),
        }
    }

    /// The folder of what is still on its way.
    pub(crate) fn arriving(&self) -> &'static str {
        match self {
            Self::Disk(_) => "tmp",
            Self::S3 { .. } => "unfinished",
        }
    }

    /// The folder of what grows over several requests.
    pub(crate) fn growing(&self) -> &'static str {
        match self {
            Self::Disk(_) => "resumable",
            Self::S3 { .. } => "unfinished",
        }
    }

    /// Parts that the store keeps of uploads that did not end; a disk has nothing of the kind.
    pub(crate) fn unfinished_parts(&self) -> usize {
        match self {
            Self::Disk(_) => 0,
            Self::S3 { server, .. } => server.unfinished_parts(),
        }
    }

    /// How an S3 server feels; `None` on disk.
    pub(crate) fn faults(&self) -> Option<&FaultInjector> {
        match self {
            Self::Disk(_) => None,
            Self::S3 { server, .. } => Some(server.faults()),
        }
    }
}

/// The shortest parts that S3 takes: tests shall have several without sending much.
fn settings(endpoint: &str) -> String {
    format!(
        r#"
        [plinth.storage]
        backend = "s3"
        [plinth.storage.s3]
        endpoint = "{endpoint}"
        bucket = "{BUCKET}"
        prefix = "files"
        access_key = "{ACCESS_KEY}"
        secret_key = "{SECRET_KEY}"
        timeout = "10s"
        [plinth.storage.tus]
        part_size = "5MiB"
        "#
    )
}
