//! A project with a bucket, the service over it, and requests as clients send them.

mod call;
#[path = "../../shared/store.rs"]
mod store;

use std::{path::PathBuf, sync::Arc, time::Duration};

use axum::{Extension, Router};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::Method;
use plinth_db::PoolConfig;
use plinth_log::LogStore;
use plinth_project::{
    Credentials, FileCheck, Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef, PublicUrl,
};
use plinth_settings::{Loader, SettingsHandle};
use plinth_storage::{StorageService, StudioConfig, routes};
use plinth_testkit::TestDatabase;
use plinth_token::KeySet;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_postgres::Client;

pub(crate) use call::{Call, Reply};
use store::OwnStore;

pub(crate) const PUBLIC_URL: &str = "https://example.com/p/ref";
pub(crate) const BASE: &str = "/upload/resumable";
pub(crate) const CHUNK: &str = "application/offset+octet-stream";
const SECRET: &str = "a secret that is long enough for HMAC";

/// One process with the service in it. Several may share a database and a folder.
pub(crate) struct Process {
    router: Router,
    service: StorageService,
    project: Project,
    place: Arc<Shared>,
}

/// What outlives a process.
struct Shared {
    db: TestDatabase,
    store: OwnStore,
    folder: TempDir,
    reference: ProjectRef,
    keys: ProjectKeys,
    settings: Loader,
}

impl Process {
    /// With a private bucket `b`.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// The same with settings of its own.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        let loader = Loader::new();
        let settings = settings.iter().fold(loader, |loader, (name, value)| {
            loader.command_line(*name, *value)
        });
        let shared = Shared {
            db: TestDatabase::create().await,
            store: OwnStore::start(true).await,
            folder: tempfile::tempdir().expect("a folder"),
            reference: ProjectRef::generate(),
            keys: ProjectKeys::new(keyset()),
            settings,
        };
        let process = Self::on(Arc::new(shared));
        process
            .execute("insert into storage.buckets (id, name) values ('b', 'b')")
            .await;
        process
    }

    /// Another process on the same database and folder: another node, or the next start.
    pub(crate) fn another(&self) -> Self {
        Self::on(self.place.clone())
    }

    fn on(place: Arc<Shared>) -> Self {
        let settings = place.settings.load().expect("good settings").settings;
        let (logs, _writer) = LogStore::open(std::env::temp_dir(), plinth_log::Config::default())
            .expect("a log store");
        let login = place.db.target().options("-c role=plinth_storage");
        let project = Project::new(
            place.reference.clone(),
            ProjectKind::Default,
            ProjectDb::alone(login, PoolConfig::default()),
            place.keys.clone(),
            SettingsHandle::new(settings),
            logs,
        );
        let studio = StudioConfig {
            folder: place.folder.path().join("renditions"),
            cache_bytes: 1024 * 1024,
            workers: None,
        };
        let service = StorageService::new(place.store.open(), &studio);
        let gateway = project.clone();
        let router = routes(service.clone())
            .layer(axum::middleware::map_request(
                move |mut request: http::Request<axum::body::Body>| {
                    let now = time::OffsetDateTime::now_utc().unix_timestamp();
                    let credentials = Credentials::read(&gateway, request.headers(), None, now);
                    request.extensions_mut().insert(credentials);
                    async move { request }
                },
            ))
            .layer(Extension(project.clone()))
            .layer(Extension(PublicUrl::new(PUBLIC_URL)));
        Self {
            router,
            service,
            project,
            place,
        }
    }

    /// A request by nobody, with nothing in it.
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
            .header("authorization", &format!("Bearer {token}"))
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

    /// How much of an upload has come.
    pub(crate) async fn offset(&self, upload: &str) -> u64 {
        let told = self.head(upload).await;
        told.is(200, "");
        let offset = told.header("upload-offset").expect("an offset");
        offset.parse().expect("a number")
    }

    /// The bytes of an object.
    pub(crate) async fn download(&self, key: &str) -> Reply {
        let path = format!("/object/b/{key}");
        let token = format!("Bearer {}", service_role());
        self.bare(Method::GET, &path)
            .header("authorization", &token)
            .await
    }

    pub(crate) async fn object(&self, key: &str) -> Value {
        let sql = "select to_jsonb(o) from storage.objects o where name = $1";
        let rows = self.admin().await.query(sql, &[&key]).await.expect("rows");
        rows.first().map_or(Value::Null, |row| row.get(0))
    }

    pub(crate) async fn admin(&self) -> Client {
        self.place.db.admin().await
    }

    pub(crate) async fn execute(&self, sql: &str) {
        let done = self.admin().await.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    pub(crate) async fn count(&self, of: &str) -> i64 {
        let sql = format!("select count(*) from {of}");
        self.admin()
            .await
            .query_one(&sql, &[])
            .await
            .expect(&sql)
            .get(0)
    }

    /// Until so many requests are writing.
    pub(crate) async fn writers(&self, number: i64) {
        let sql = "select count(*) from plinth.resumable_upload where lease_id is not null";
        let admin = self.admin().await;
        let count = async || -> i64 { admin.query_one(sql, &[]).await.expect(sql).get(0) };
        while count().await < number {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn sweep(&self) -> u64 {
        let swept = self.service.sweep(&self.project).await;
        swept.expect("the database answers")
    }

    /// Rows and bytes agree.
    pub(crate) async fn is_clean(&self) {
        let how = FileCheck {
            verifies_digests: true,
            ..FileCheck::default()
        };
        let mut lines = self.service.check(&self.project, how);
        let mut last = Value::Null;
        while let Some(line) = lines.recv().await {
            assert!(line.get("finding").is_none(), "{line}");
            last = line;
        }
        assert!(last.get("summary").is_some(), "{last}");
    }

    /// All files that there are.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.place.store.all()
    }

    /// Bytes of the only upload that were stored right before a crash and never confirmed.
    pub(crate) fn has_unconfirmed_bytes(&self) {
        let [file] = &self.files()[..] else {
            panic!("one file");
        };
        let unconfirmed = match &self.place.store {
            OwnStore::Local { .. } => file.clone(),
            OwnStore::S3(_) => file.with_file_name(format!("at.{:020}", 33)),
        };
        let mut bytes = std::fs::read(file).expect("read");
        bytes.extend(b", and what was never confirmed");
        std::fs::write(unconfirmed, bytes).expect("written");
    }
}

/// As `Upload-Metadata` has it.
pub(crate) fn metadata(pairs: &[(&str, &str)]) -> String {
    let pair = |(key, value): &(&str, &str)| format!("{key} {}", STANDARD.encode(value));
    pairs.iter().map(pair).collect::<Vec<_>>().join(",")
}

pub(crate) fn service_role() -> String {
    sign(&json!({ "role": "service_role" }))
}

pub(crate) fn user(id: &str) -> String {
    sign(&json!({ "role": "authenticated", "sub": id }))
}

fn keyset() -> KeySet {
    let keys = KeySet::builder().legacy_secret(SECRET).build();
    keys.expect("a good secret")
}

fn sign(claims: &Value) -> String {
    keyset().sign(claims).expect("signed")
}
