//! A database, a blob store, the service over both, and requests to it.

mod call;
#[path = "../../shared/check.rs"]
mod check;
mod form;
mod reply;
#[path = "../../shared/store.rs"]
mod store;

use std::{fs, path::PathBuf};

use axum::Router;
use http::Method;
use plinth_db::PoolConfig;
use plinth_project::{FileCheck, Project};
use plinth_storage::{SeedBucket, StorageService, routes};
use plinth_testkit::{ProjectBuilder, ProjectLogins, TestDatabase, behind_gateway, load_settings};
use plinth_teststore::Fault;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use call::StorageCall;
use check::run_check;
pub(crate) use form::Form;
pub(crate) use plinth_testkit::{
    ANN, BOB, Call, Listener, PUBLISHABLE_KEY, Reply, Requests, SECRET_KEY, Sql, claims, now, sign,
    until,
};
pub(crate) use reply::{ErrorBody, StorageReply};
pub(crate) use store::StoreFixture;

/// The service over a database and a store of its own.
pub(crate) struct TestApi {
    router: Router,
    service: StorageService,
    project: Project,
    store: StoreFixture,
    _folder: TempDir,
    db: TestDatabase,
}

impl TestApi {
    /// With default settings.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        Self::pooled(settings, PoolConfig::default()).await
    }

    pub(crate) async fn pooled(settings: &[(&str, &str)], pool: PoolConfig) -> Self {
        let db = TestDatabase::create().await;
        let folder = TempDir::new().expect("a folder");
        let store = StoreFixture::start(false).await;
        let service = store.service(folder.path());
        let logins = ProjectLogins::create(&db).await;
        let project = ProjectBuilder::new(logins.connect(&db, pool).await)
            .reference(logins.reference)
            .settings(load_settings(settings))
            .build();
        Self {
            router: behind_gateway(routes(service.clone()), &project, now),
            service,
            project,
            store,
            _folder: folder,
            db,
        }
    }

    /// A `POST` of a file.
    pub(crate) fn upload(&self, place: &str, content: &str) -> Call {
        let path = format!("/object/{place}");
        self.call(Method::POST, &path).body("text/plain", content)
    }

    /// Creates a bucket through the API.
    pub(crate) async fn has_bucket(&self, id: &str, is_public: bool) {
        let body = json!({ "name": id, "public": is_public });
        self.post("/bucket", body).service_role().await.expect_ok();
    }

    /// Uploads an object as `service_role`.
    pub(crate) async fn has_object(&self, place: &str, content: &str) {
        self.upload(place, content).service_role().await.expect_ok();
    }

    /// How many blobs are pending, and how many are due for garbage collection.
    pub(crate) async fn ledger(&self) -> (i64, i64) {
        let pending = self.count("select count(*) from plinth.pending_blob").await;
        let leaving = self.count("select count(*) from plinth.blob_gc").await;
        (pending, leaving)
    }

    /// How many blobs are in flight, and how many are complete.
    pub(crate) fn files(&self) -> (usize, usize) {
        let arriving = match &self.store {
            StoreFixture::Local { .. } => "tmp",
            StoreFixture::S3(_) => "unfinished",
        };
        (self.files_in(arriving).len(), self.blobs().len())
    }

    /// The files of complete blobs.
    pub(crate) fn blobs(&self) -> Vec<PathBuf> {
        self.files_in("blobs")
    }

    fn files_in(&self, folder: &str) -> Vec<PathBuf> {
        let root = self.folder();
        // A folder above the store may have the same name.
        let below = |file: &PathBuf| file.strip_prefix(&root).map(PathBuf::from);
        let is_there = |file: &PathBuf| {
            below(file).is_ok_and(|file| file.components().any(|part| part.as_os_str() == folder))
        };
        self.store.all().into_iter().filter(is_there).collect()
    }

    /// The folder with everything, to look for leftovers.
    pub(crate) fn folder(&self) -> PathBuf {
        self.store.folder()
    }

    /// From now on the store fails.
    pub(crate) fn break_store(&self) {
        match &self.store {
            StoreFixture::Local { folder, .. } => {
                let files = folder.path().join("files");
                _ = fs::rename(&files, folder.path().join("files before"));
                fs::write(files, "no folder").expect("written");
            }
            StoreFixture::S3(server) => server.faults().inject(Fault::Unavailable),
        }
    }

    /// The store works again.
    pub(crate) fn mend_store(&self) {
        match &self.store {
            StoreFixture::Local { folder, .. } => {
                let files = folder.path().join("files");
                fs::remove_file(&files).expect("it was broken");
                _ = fs::rename(folder.path().join("files before"), files);
            }
            StoreFixture::S3(server) => server.faults().inject(Fault::None),
        }
    }

    /// From now on that blob cannot be removed.
    pub(crate) fn fail_removals(&self, version: &str) {
        match &self.store {
            StoreFixture::Local { .. } => {
                // A folder instead of the file.
                let mut blobs = self.blobs().into_iter();
                let path = blobs.find(|path| path.ends_with(version)).expect("a file");
                fs::remove_file(&path).expect("behind its back");
                fs::create_dir_all(path.join("inside")).expect("a folder");
            }
            StoreFixture::S3(server) => server.faults().inject_for_deletes(Fault::Unavailable),
        }
    }

    /// From now on one blob cannot be read; others can.
    pub(crate) fn hide_blob(&self, version: &str) {
        match &self.store {
            StoreFixture::Local { .. } => {
                let mut blobs = self.blobs().into_iter();
                let path = blobs.find(|path| path.ends_with(version)).expect("a file");
                fs::remove_file(&path).expect("behind its back");
                lead_in_a_circle(&path);
            }
            StoreFixture::S3(server) => server.faults().inject_for_uri(version, Fault::Unavailable),
        }
    }

    /// From now on a part of the store cannot be listed.
    pub(crate) fn hide_list(&self) {
        match &self.store {
            StoreFixture::Local { .. } => lead_in_a_circle(&self.store().join("blobs").join("zz")),
            StoreFixture::S3(server) => server
                .faults()
                .inject_for_uri("list-type", Fault::Unavailable),
        }
    }

    /// Runs the garbage collection; gives how many blobs it removed.
    pub(crate) async fn collect_garbage(&self) -> u64 {
        self.service
            .collect_garbage(&self.project)
            .await
            .expect("collected")
    }

    /// Runs the garbage collection as if all grace periods were over.
    pub(crate) async fn collect_garbage_later(&self) -> u64 {
        self.execute("update plinth.pending_blob set created_at = now() - interval '2 days'")
            .await;
        let removed = self.collect_garbage().await;
        self.execute("update plinth.blob_gc set not_before = now() - interval '1 second'")
            .await;
        removed + self.collect_garbage().await
    }

    /// The findings of a check, and its summary.
    pub(crate) async fn check(&self, how: FileCheck) -> (Vec<Value>, Value) {
        let (findings, last) = self.check_to_its_end(how).await;
        let summary = last.get("summary").cloned();
        (findings, summary.unwrap_or_else(|| panic!("{last}")))
    }

    /// The findings of a check, and its last line.
    pub(crate) async fn check_to_its_end(&self, how: FileCheck) -> (Vec<Value>, Value) {
        run_check(&self.service, &self.project, how).await
    }

    /// Asserts that rows and blobs match.
    #[track_caller]
    pub(crate) fn is_clean(&self) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let how = FileCheck {
                verifies_digests: true,
                ..FileCheck::default()
            };
            let (findings, summary) = self.check(how).await;
            assert!(findings.is_empty(), "{caller}: {findings:#?}");
            summary
        }
    }

    /// Runs the orphan scan; gives how many it found.
    pub(crate) async fn collect_orphans(&self) -> u64 {
        let collected = self.service.collect_orphans(&self.project).await;
        collected.expect("searched")
    }

    /// Seeds a bucket; gives how many files were uploaded.
    pub(crate) async fn seed(&self, bucket: &SeedBucket) -> Result<usize, String> {
        let seeded = self.service.seed(&self.project, bucket).await;
        seeded.map_err(|error| error.to_string())
    }

    /// The folder of the blobs of this project.
    pub(crate) fn store(&self) -> PathBuf {
        let root = self.folder().join("files");
        root.join(self.project.reference().as_str())
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self.store, StoreFixture::Local { .. })
    }

    /// Waits for the work that outlives its request.
    pub(crate) async fn drain(&self) {
        self.service.drain().await;
    }
}

impl Requests for TestApi {
    fn router(&self) -> Router {
        self.router.clone()
    }
}

impl Sql for TestApi {
    fn db(&self) -> &TestDatabase {
        &self.db
    }
}

/// A symbolic link that leads to itself: even root fails to follow it.
fn lead_in_a_circle(path: &std::path::Path) {
    std::os::unix::fs::symlink(path, path).expect("a link");
}
