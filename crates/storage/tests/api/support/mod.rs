//! A database, a folder for bytes, the service over both, requests and whole answers.

mod call;
mod form;
mod listener;
mod reply;
#[path = "../../shared/store.rs"]
mod store;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use axum::{Extension, Router};
use http::{Method, Request};
use plinth_db::PoolConfig;
use plinth_log::LogStore;
use plinth_project::{
    ApiKey, Cluster, Credentials, FileCheck, Logins, Project, ProjectDb, ProjectKeys, ProjectKind,
    ProjectRef, logins, prepare_cluster,
};
use plinth_settings::{Loader, SettingsHandle};
use plinth_storage::{SeedBucket, StorageService, StudioConfig, routes};
use plinth_testkit::{TestDatabase, TestServer};
use plinth_teststore::Mood;
use plinth_token::{ApiKeyKind, KeySet, credential_hash};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, Row};

pub(crate) use call::Call;
pub(crate) use form::Form;
pub(crate) use listener::Listener;
pub(crate) use reply::{Refusal, Reply};
pub(crate) use store::OwnStore;

pub(crate) const SECRET: &str = "a secret that is long enough for HMAC";
pub(crate) const PUBLISHABLE_KEY: &str = "sb_publishable_of_this_project";
pub(crate) const SECRET_KEY: &str = "sb_secret_of_this_project";
pub(crate) const ANN: &str = "00000000-0000-0000-0000-00000000000a";
pub(crate) const BOB: &str = "00000000-0000-0000-0000-00000000000b";

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

/// The service over one database and one store, both of the test's own.
pub(crate) struct TestApi {
    router: Router,
    service: StorageService,
    project: Project,
    store: OwnStore,
    _folder: TempDir,
    db: TestDatabase,
}

impl TestApi {
    /// With the settings that Plinth has by itself.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        Self::pooled(settings, PoolConfig::default()).await
    }

    pub(crate) async fn pooled(settings: &[(&str, &str)], pool: PoolConfig) -> Self {
        let db = TestDatabase::create().await;
        let folder = TempDir::new().expect("a folder");
        let store = OwnStore::start(false).await;
        let studio = StudioConfig {
            folder: folder.path().join("renditions"),
            cache_bytes: 1024 * 1024,
            workers: None,
        };
        let service = StorageService::new(store.open(), &studio);
        let loader = settings
            .iter()
            .fold(Loader::new(), |loader, (name, value)| {
                loader.command_line(*name, *value)
            });
        let settings = loader.load().expect("good settings").settings;
        let (logs, _writer) =
            LogStore::open(folder.path().join("logs"), plinth_log::Config::default())
                .expect("a log store");
        let reference = ProjectRef::generate();
        let project = Project::new(
            reference.clone(),
            ProjectKind::Default,
            connect(&db, &reference, pool).await,
            project_keys(),
            SettingsHandle::new(settings),
            logs,
        );
        let gateway = project.clone();
        let router = routes(service.clone())
            .layer(axum::middleware::map_request(move |request| {
                let project = gateway.clone();
                async move { with_credentials(&project, request) }
            }))
            .layer(Extension(project.clone()));
        Self {
            router,
            service,
            project,
            store,
            _folder: folder,
            db,
        }
    }

    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        Call::new(self.router.clone(), method, path)
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    pub(crate) fn head(&self, path: &str) -> Call {
        self.call(Method::HEAD, path)
    }

    /// With a JSON body.
    pub(crate) fn post(&self, path: &str, body: Value) -> Call {
        self.call(Method::POST, path).json(&body)
    }

    /// With a JSON body.
    pub(crate) fn put(&self, path: &str, body: Value) -> Call {
        self.call(Method::PUT, path).json(&body)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }

    /// A `POST` of a file.
    pub(crate) fn upload(&self, place: &str, content: &str) -> Call {
        let path = format!("/object/{place}");
        self.call(Method::POST, &path).body("text/plain", content)
    }

    /// A bucket is there, made through the API.
    pub(crate) async fn has_bucket(&self, id: &str, is_public: bool) {
        let body = json!({ "name": id, "public": is_public });
        self.post("/bucket", body).service().await.succeeds();
    }

    /// An object is there, uploaded with the service's rights.
    pub(crate) async fn has_object(&self, place: &str, content: &str) {
        self.upload(place, content).service().await.succeeds();
    }

    /// A connection of the superuser.
    pub(crate) async fn admin(&self) -> Client {
        self.db.admin().await
    }

    /// Runs statements as the superuser.
    pub(crate) async fn execute(&self, sql: &str) {
        let done = self.admin().await.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    pub(crate) async fn query(&self, sql: &str) -> Vec<Row> {
        let rows = self.admin().await.query(sql, &[]).await;
        rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
    }

    pub(crate) async fn query_one(&self, sql: &str) -> Row {
        let rows = self.query(sql).await;
        rows.into_iter().next().expect("a row")
    }

    /// One number.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.query_one(sql).await.get(0)
    }

    /// How many blobs are pending, and how many are to go.
    pub(crate) async fn ledger(&self) -> (i64, i64) {
        let pending = self.count("select count(*) from plinth.pending_blob").await;
        let leaving = self.count("select count(*) from plinth.blob_gc").await;
        (pending, leaving)
    }

    /// Blobs that are arriving, and whole ones.
    pub(crate) fn files(&self) -> (usize, usize) {
        let arriving = match &self.store {
            OwnStore::Local { .. } => "tmp",
            OwnStore::S3(_) => "unfinished",
        };
        (self.files_in(arriving).len(), self.blobs().len())
    }

    /// The files of finished blobs.
    pub(crate) fn blobs(&self) -> Vec<PathBuf> {
        self.files_in("blobs")
    }

    fn files_in(&self, folder: &str) -> Vec<PathBuf> {
        let root = self.folder();
        // The folder of temporary files, in which all of this is, may have the same name.
        let below = |file: &PathBuf| file.strip_prefix(&root).map(PathBuf::from);
        let is_there = |file: &PathBuf| {
            below(file).is_ok_and(|file| file.components().any(|part| part.as_os_str() == folder))
        };
        self.store.all().into_iter().filter(is_there).collect()
    }

    /// The folder of everything, for looking at what must not be there.
    pub(crate) fn folder(&self) -> PathBuf {
        self.store.folder()
    }

    /// From now on the store takes and gives nothing.
    pub(crate) fn break_store(&self) {
        match &self.store {
            OwnStore::Local { folder, .. } => {
                let files = folder.path().join("files");
                _ = fs::rename(&files, folder.path().join("files before"));
                fs::write(files, "no folder").expect("written");
            }
            OwnStore::S3(server) => server.switch().set(Mood::Unavailable),
        }
    }

    /// The store is well again.
    pub(crate) fn mend_store(&self) {
        match &self.store {
            OwnStore::Local { folder, .. } => {
                let files = folder.path().join("files");
                fs::remove_file(&files).expect("it was broken");
                _ = fs::rename(folder.path().join("files before"), files);
            }
            OwnStore::S3(server) => server.switch().set(Mood::Good),
        }
    }

    /// From now on the store does not let go of that blob.
    pub(crate) fn refuse_removals(&self, version: &str) {
        match &self.store {
            OwnStore::Local { .. } => {
                // A folder in the place of a file.
                let mut blobs = self.blobs().into_iter();
                let path = blobs.find(|path| path.ends_with(version)).expect("a file");
                fs::remove_file(&path).expect("behind its back");
                fs::create_dir_all(path.join("inside")).expect("a folder");
            }
            OwnStore::S3(server) => server.switch().set_for_removals(Mood::Unavailable),
        }
    }

    /// From now on one blob cannot be read; others can.
    pub(crate) fn hide_blob(&self, version: &str) {
        match &self.store {
            OwnStore::Local { .. } => {
                let mut blobs = self.blobs().into_iter();
                let path = blobs.find(|path| path.ends_with(version)).expect("a file");
                fs::remove_file(&path).expect("behind its back");
                lead_in_a_circle(&path);
            }
            OwnStore::S3(server) => server.switch().set_where(version, Mood::Unavailable),
        }
    }

    /// From now on a part of the store cannot be listed.
    pub(crate) fn hide_list(&self) {
        match &self.store {
            OwnStore::Local { .. } => lead_in_a_circle(&self.store().join("blobs").join("zz")),
            OwnStore::S3(server) => server.switch().set_where("list-type", Mood::Unavailable),
        }
    }

    /// One round of the collector; gives how many blobs went.
    pub(crate) async fn sweep(&self) -> u64 {
        self.service.sweep(&self.project).await.expect("swept")
    }

    /// One round of the collector, with all grace over.
    pub(crate) async fn sweep_later(&self) -> u64 {
        self.execute("update plinth.pending_blob set created_at = now() - interval '2 days'")
            .await;
        let removed = self.sweep().await;
        self.execute("update plinth.blob_gc set not_before = now() - interval '1 second'")
            .await;
        removed + self.sweep().await
    }

    /// What a check finds: its findings, then the summary.
    pub(crate) async fn check(&self, how: FileCheck) -> (Vec<Value>, Value) {
        let (findings, last) = self.check_to_its_end(how).await;
        let summary = last.get("summary").cloned();
        (findings, summary.unwrap_or_else(|| panic!("{last}")))
    }

    /// What a check finds, then its last word, whatever that is.
    pub(crate) async fn check_to_its_end(&self, how: FileCheck) -> (Vec<Value>, Value) {
        let mut lines = self.service.check(&self.project, how);
        let (mut findings, mut last) = (Vec::new(), Value::Null);
        while let Some(line) = lines.recv().await {
            if line.get("finding").is_some() {
                findings.push(line.clone());
            }
            last = line;
        }
        (findings, last)
    }

    /// Rows and bytes agree.
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

    /// One search for bytes without an owner; gives how many there were.
    pub(crate) async fn collect_orphans(&self) -> u64 {
        let collected = self.service.collect_orphans(&self.project).await;
        collected.expect("searched")
    }

    /// Makes a bucket as a folder describes it; gives how many files were put into it.
    pub(crate) async fn seed(&self, bucket: &SeedBucket) -> Result<usize, String> {
        let sown = self.service.seed(&self.project, bucket).await;
        sown.map_err(|error| error.to_string())
    }

    /// The folder of this project's bytes.
    pub(crate) fn store(&self) -> PathBuf {
        let root = self.folder().join("files");
        root.join(self.project.reference().as_str())
    }

    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self.store, OwnStore::Local { .. })
    }

    /// Waits for what the service does without anybody waiting.
    pub(crate) async fn finish(&self) {
        self.service.finish().await;
    }
}

/// A name that everybody, also root, fails to follow.
fn lead_in_a_circle(path: &std::path::Path) {
    std::os::unix::fs::symlink(path, path).expect("a link");
}

/// With logins of the project's own, as on the platform: none of them may do more than it must.
async fn connect(db: &TestDatabase, reference: &ProjectRef, pool: PoolConfig) -> ProjectDb {
    let server = TestServer::shared().await.admin();
    let cluster = CLUSTER
        .get_or_init(async || {
            let mut admin = server.connect().await.expect("the server answers");
            prepare_cluster(&mut admin).await.expect("the shared roles")
        })
        .await;
    let passwords = Logins::generate();
    let mut sql = logins::create_sql(cluster, reference, &passwords);
    sql.push_str(&logins::open_database_sql(cluster, reference, db.name()));
    let done = db.admin().await.batch_execute(&sql).await;
    done.expect("logins of the project");
    ProjectDb::new(&server, cluster, reference, db.name(), passwords, pool)
}

fn project_keys() -> ProjectKeys {
    let key = |text: &str, kind| {
        let key = ApiKey::new(Default::default(), "default", kind);
        (credential_hash(text), key.into())
    };
    ProjectKeys {
        api_keys: [
            key(PUBLISHABLE_KEY, ApiKeyKind::Publishable),
            key(SECRET_KEY, ApiKeyKind::Secret),
        ]
        .into(),
        ..ProjectKeys::new(keyset())
    }
}

/// What the gateway of the full server does.
fn with_credentials<B>(project: &Project, mut request: Request<B>) -> Request<B> {
    let credentials = Credentials::read(project, request.headers(), None, now());
    request.extensions_mut().insert(credentials);
    request
}

fn keyset() -> KeySet {
    KeySet::builder()
        .legacy_secret(SECRET)
        .build()
        .expect("a good secret")
}

/// A token with these claims, signed with the project's secret.
pub(crate) fn sign(claims: &Value) -> String {
    keyset().sign(claims).expect("signed")
}

/// The claims of a token, whoever signed it.
pub(crate) fn claims_of(token: &str) -> Value {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let payload = token.split('.').nth(1).expect("three parts");
    let payload = URL_SAFE_NO_PAD.decode(payload).expect("base64");
    serde_json::from_slice(&payload).expect("JSON")
}

/// Waits for something to become true.
pub(crate) async fn until(is_true: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_true().await {
        assert!(Instant::now() < deadline, "this never became true");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}
