//! A project with a bucket, the service over it, and requests as clients send them.

mod call;
#[path = "../../shared/check.rs"]
mod check;
mod reply;
#[path = "../../shared/store.rs"]
mod store;

use std::{path::PathBuf, sync::Arc};

use axum::{Extension, Router};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::Method;
use plinth_db::PoolConfig;
use plinth_project::{FileCheck, Project, ProjectDb, ProjectKeys, ProjectRef, PublicUrl};
use plinth_settings::Settings;
use plinth_storage::{StorageService, routes};
use plinth_testkit::{
    ProjectBuilder, TestDatabase, behind_gateway, keyset, load_settings, now, project_keys, sign,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use call::TusCall;
use check::run_check;
pub(crate) use plinth_testkit::{Call, Reply, SECRET, Sql, until, user_token};
pub(crate) use reply::TusReply;
use store::StoreFixture;

pub(crate) const PUBLIC_URL: &str = "https://example.com/p/ref";
pub(crate) const BASE: &str = "/upload/resumable";
pub(crate) const CHUNK: &str = "application/offset+octet-stream";

/// One process with the service. Several may share a database and a store.
pub(crate) struct Process {
    router: Router,
    service: StorageService,
    project: Project,
    place: Arc<Shared>,
}

/// What outlives a process: database and store.
struct Shared {
    db: TestDatabase,
    store: StoreFixture,
    folder: TempDir,
    reference: ProjectRef,
    keys: ProjectKeys,
    settings: Settings,
}

impl Process {
    /// With a private bucket `b`.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// The same with settings of its own.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        let shared = Shared {
            db: TestDatabase::create().await,
            store: StoreFixture::start(true).await,
            folder: tempfile::tempdir().expect("a folder"),
            reference: ProjectRef::generate(),
            keys: project_keys(keyset(SECRET)),
            settings: load_settings(settings),
        };
        let process = Self::on(Arc::new(shared));
        process
            .execute("insert into storage.buckets (id, name) values ('b', 'b')")
            .await;
        process
    }

    /// Another process on the same database and store: another node, or the next start.
    pub(crate) fn another(&self) -> Self {
        Self::on(self.place.clone())
    }

    fn on(place: Arc<Shared>) -> Self {
        let login = place.db.target().options("-c role=plinth_storage");
        let db = ProjectDb::standalone(login, PoolConfig::default());
        let project = ProjectBuilder::new(db)
            .reference(place.reference.clone())
            .keys(place.keys.clone())
            .settings(place.settings.clone())
            .build();
        let service = place.store.service(place.folder.path());
        let router = routes(service.clone()).layer(Extension(PublicUrl::new(PUBLIC_URL)));
        let router = behind_gateway(router, &project, now);
        Self {
            router,
            service,
            project,
            place,
        }
    }

    /// A request without a credential.
    pub(crate) fn bare(&self, method: Method, path: &str) -> Call {
        Call::new(self.router.clone(), method, path)
    }

    /// A request of the protocol, by the service role.
    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        self.call_as(&service_role(), method, path)
    }

    pub(crate) fn call_as(&self, token: &str, method: Method, path: &str) -> Call {
        self.bare(method, path)
            .header("tus-resumable", "1.0.0")
            .bearer(token)
    }

    pub(crate) fn create(&self, key: &str) -> Call {
        let metadata = metadata(&[("bucketName", "b"), ("objectName", key)]);
        self.call(Method::POST, BASE)
            .header("upload-metadata", &metadata)
    }

    /// The path of a new upload.
    pub(crate) async fn begin(&self, key: &str, length: usize) -> String {
        let created = self
            .create(key)
            .header("upload-length", &length.to_string());
        created.await.upload()
    }

    pub(crate) fn patch(&self, upload: &str, offset: u64) -> Call {
        self.call(Method::PATCH, upload)
            .header("upload-offset", &offset.to_string())
            .header("content-type", CHUNK)
    }

    pub(crate) fn head(&self, upload: &str) -> Call {
        self.call(Method::HEAD, upload)
    }

    /// The offset of an upload.
    pub(crate) async fn offset(&self, upload: &str) -> u64 {
        let head = self.head(upload).await;
        head.is(200, "");
        let offset = head.header("upload-offset").expect("an offset");
        offset.parse().expect("a number")
    }

    /// The bytes of an object.
    pub(crate) async fn download(&self, key: &str) -> Reply {
        let path = format!("/object/b/{key}");
        self.bare(Method::GET, &path).service_role().await
    }

    pub(crate) async fn object(&self, key: &str) -> Value {
        let sql = "select to_jsonb(o) from storage.objects o where name = $1";
        let rows = self.admin().await.query(sql, &[&key]).await.expect("rows");
        rows.first().map_or(Value::Null, |row| row.get(0))
    }

    pub(crate) async fn count_rows(&self, of: &str) -> i64 {
        self.count(&format!("select count(*) from {of}")).await
    }

    /// Waits until so many requests hold a lease.
    pub(crate) async fn writers(&self, number: i64) {
        let held = "plinth.resumable_upload where lease_id is not null";
        until(async || self.count_rows(held).await >= number).await;
    }

    pub(crate) async fn collect_garbage(&self) -> u64 {
        let collected = self.service.collect_garbage(&self.project).await;
        collected.expect("collected")
    }

    /// Asserts that rows and blobs match.
    pub(crate) async fn is_clean(&self) {
        let how = FileCheck {
            verifies_digests: true,
            ..FileCheck::default()
        };
        let (findings, last) = run_check(&self.service, &self.project, how).await;
        assert!(findings.is_empty(), "{findings:#?}");
        assert!(last.get("summary").is_some(), "{last}");
    }

    /// All files of the store.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.place.store.all()
    }

    /// Bytes of the only upload that were stored right before a crash and never confirmed.
    pub(crate) fn has_unconfirmed_bytes(&self) {
        let [file] = &self.files()[..] else {
            panic!("one file");
        };
        let unconfirmed = match &self.place.store {
            StoreFixture::Local { .. } => file.clone(),
            StoreFixture::S3(_) => file.with_file_name(format!("at.{:020}", 33)),
        };
        let mut bytes = std::fs::read(file).expect("read");
        bytes.extend(b", and what was never confirmed");
        std::fs::write(unconfirmed, bytes).expect("written");
    }
}

impl Sql for Process {
    fn db(&self) -> &TestDatabase {
        &self.place.db
    }
}

/// The value of `Upload-Metadata`.
pub(crate) fn metadata(pairs: &[(&str, &str)]) -> String {
    let pair = |(key, value): &(&str, &str)| format!("{key} {}", STANDARD.encode(value));
    pairs.iter().map(pair).collect::<Vec<_>>().join(",")
}

pub(crate) fn service_role() -> String {
    sign(&json!({ "role": "service_role" }))
}
