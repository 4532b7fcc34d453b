//! A folder of functions, the service over it on a port of its own, and whoever calls.

use std::{
    collections::BTreeMap,
    error::Error,
    fs::{self, Permissions},
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::Extension;
use plinth_db::{DbError, PoolConfig};
use plinth_functions::{Deno, FunctionsParts, FunctionsService, routes};
use plinth_log::{LogStore, Query, Record, Source, WriterThread};
use plinth_project::{
    ApiKey, BoxFuture, Cluster, DeployedFunction, FunctionHost, FunctionRunner as _, FunctionShelf,
    FunctionSource, FunctionSurroundings, Logins, Project, ProjectDb, ProjectKeys, ProjectKind,
    ProjectRef, UnpackError, logins, prepare_cluster,
};
use plinth_settings::{Loader, Settings, SettingsHandle};
use plinth_testkit::{TestDatabase, TestServer};
use plinth_token::{ApiKeyKind, KeySet, Secret, credential_hash};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::OnceCell};
use uuid::Uuid;

pub(crate) const SECRET: &str = "a secret that is long enough for HMAC";
pub(crate) const PUBLISHABLE_KEY: &str = "sb_publishable_of_this_project";
pub(crate) const SECRET_KEY: &str = "sb_secret_of_this_project";

/// Longer than anything here takes, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

/// The service over a folder of the test's own.
pub(crate) struct TestFunctions {
    pub(crate) address: SocketAddr,
    pub(crate) project: Project,
    pub(crate) service: FunctionsService,
    pub(crate) shelf: Arc<TestShelf>,
    pub(crate) client: reqwest::Client,
    pub(crate) logs: LogStore,
    _writer: WriterThread,
    _db: TestDatabase,
    folder: TempDir,
}

/// A process that was started for a function, or before anybody knew for which.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Whether it has got no function yet.
    pub(crate) is_waiting: bool,
}

/// How a test's service differs from others.
#[derive(Default)]
pub(crate) struct Wish<'a> {
    pub(crate) files: &'a [(&'a str, &'a str)],
    pub(crate) settings: &'a [(&'a str, &'a str)],
    pub(crate) has_no_deno: bool,
    pub(crate) is_production: bool,
    pub(crate) max_workers: Option<usize>,
}

impl TestFunctions {
    /// One function that anybody may call.
    pub(crate) async fn of(code: &str) -> Self {
        Self::with(&[("hello/index.ts", code)], &[]).await
    }

    pub(crate) async fn with(files: &[(&str, &str)], settings: &[(&str, &str)]) -> Self {
        Self::start(Wish {
            files,
            settings,
            ..Wish::default()
        })
        .await
    }

    pub(crate) async fn start(wish: Wish<'_>) -> Self {
        // Not below `/tmp`, which workers have for themselves.
        let folder = TempDir::new_in("/var/tmp").expect("a folder");
        // Workers of a root Plinth are other users.
        let open = Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), open).expect("an open folder");
        write_all(folder.path(), wish.files);
        let (logs, writer) =
            LogStore::open(folder.path().join("logs"), plinth_log::Config::default())
                .expect("a log store");
        let writer = writer.start().expect("a writer");
        let db = TestDatabase::create().await;
        let reference = ProjectRef::generate();
        let project = Project::new(
            reference.clone(),
            ProjectKind::Default,
            connect(&db, &reference).await,
            project_keys(),
            SettingsHandle::new(load(wish.settings)),
            logs.clone(),
        );
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let runtime_dirs = if wish.has_no_deno {
            vec![]
        } else {
            runtime_dirs()
        };
        let service = FunctionsService::new(FunctionsParts {
            deno: Deno::find(&runtime_dirs),
            home: folder.path().join("home"),
            folder: Some(folder.path().to_owned()),
            is_developing: !wish.is_production,
            max_workers: wish.max_workers,
            door: None,
            host: Arc::new(TestHost(address)),
        });
        let shelf = Arc::new(TestShelf::default());
        service.attach_shelf(shelf.clone());
        let router = routes(service.clone()).layer(Extension(project.clone()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            project,
            service,
            shelf,
            client: reqwest::Client::new(),
            logs,
            _writer: writer,
            _db: db,
            folder,
        }
    }

    /// Follows changes of the folder from now on.
    pub(crate) fn watch(&self) {
        let (service, project) = (self.service.clone(), self.project.clone());
        tokio::spawn(async move {
            let project = move || -> BoxFuture<'static, _> {
                let project = project.clone();
                Box::pin(async move { Some(project) })
            };
            service.watch_folder(project).await;
        });
    }

    pub(crate) fn functions_folder(&self) -> PathBuf {
        self.folder.path().join("supabase/functions")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write_all(self.folder.path(), &[(name, text)]);
    }

    /// Says that something was deployed, removed or set.
    pub(crate) async fn changed(&self) {
        self.service.changed(self.project.reference()).await;
    }

    pub(crate) fn set(&self, settings: &[(&str, &str)]) {
        self.project.settings().replace(load(settings));
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client
            .get(self.url(path))
            .header("apikey", PUBLISHABLE_KEY)
    }

    pub(crate) fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.client
            .post(self.url(path))
            .header("apikey", PUBLISHABLE_KEY)
    }

    /// Status and text of an answer.
    pub(crate) async fn fetch(&self, path: &str) -> (u16, String) {
        read(self.get(path).send().await.expect("an answer")).await
    }

    /// An answer of ours, with its code.
    pub(crate) async fn failure(&self, path: &str) -> (u16, Value) {
        let response = self.get(path).send().await.expect("an answer");
        let status = response.status().as_u16();
        (status, response.json().await.expect("JSON"))
    }

    /// The processes of this test's workers.
    pub(crate) fn worker_pids(&self) -> Vec<i32> {
        let processes = self.processes().into_iter();
        let workers = processes.filter(|process| !process.is_waiting);
        workers.map(|process| process.pid).collect()
    }

    /// The process that waits for a function, as soon as there is one.
    pub(crate) async fn spare(&self) -> i32 {
        let mut found = None;
        until("a process that waits", || {
            let processes = self.processes();
            let spare = processes.iter().find(|process| process.is_waiting);
            found = spare.map(|process| process.pid);
            found.is_some()
        })
        .await;
        found.expect("a process")
    }

    /// All processes that this test's service has started for functions.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let Ok(home) = self.home().canonicalize() else {
            return Vec::new();
        };
        let needle = format!("{}/", home.display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("processes").flatten() {
            let Some(pid) = entry.file_name().to_string_lossy().parse().ok() else {
                continue;
            };
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            if line.contains(&needle) && line.contains("--allow-read") {
                let mut arguments = line.split('\0');
                let written =
                    arguments.find_map(|argument| argument.strip_prefix("--allow-write="));
                let socket = written.and_then(|paths| paths.split(',').next());
                let serves = socket.is_some_and(|socket| Path::new(socket).exists());
                let is_waiting = !serves && !line.contains("--preload");
                found.push(Process { pid, is_waiting });
            }
        }
        found
    }

    /// Records of functions, as soon as there is one that fits.
    pub(crate) async fn records_with(&self, fits: impl Fn(&Record) -> bool) -> Vec<Record> {
        let mut records = Vec::new();
        until("a record", || {
            let mut query = Query::project(self.project.reference().as_str());
            query.sources = vec![Source::Functions];
            query.limit = 200;
            records = self.logs.search(&query).expect("readable").records;
            records.iter().any(&fits)
        })
        .await;
        records
    }
}

/// Workers that outlived the test's folder would make some of it again.
impl Drop for TestFunctions {
    fn drop(&mut self) {
        for process in self.processes() {
            let pid = rustix::process::Pid::from_raw(process.pid);
            _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        }
    }
}

pub(crate) async fn read(response: reqwest::Response) -> (u16, String) {
    let status = response.status().as_u16();
    (status, response.text().await.expect("text"))
}

/// Asks until the answer is the expected one.
pub(crate) async fn becomes(functions: &TestFunctions, path: &str, expected: &str) {
    let began = Instant::now();
    loop {
        let (status, text) = functions.fetch(path).await;
        if text == expected {
            return;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{path}: {status} {text}, expected {expected}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn write_all(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join("supabase/functions").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

pub(crate) fn runtime_dirs() -> Vec<PathBuf> {
    let told = std::env::var_os("PLINTH_RUNTIME_DIR").map(PathBuf::from);
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime"));
    told.into_iter().chain([source]).collect()
}

/// Settings by name; a whole file is called `config.toml`.
pub(crate) fn load(settings: &[(&str, &str)]) -> Settings {
    let usual = [("plinth.functions.boot_timeout", "60s")];
    let add = |loader: Loader, (name, value): &(&str, &str)| match *name {
        "config.toml" => loader.config_text(*name, *value),
        name => loader.command_line(name, *value),
    };
    let loader = usual.iter().chain(settings).fold(Loader::new(), add);
    loader.load().expect("good settings").settings
}

async fn connect(db: &TestDatabase, reference: &ProjectRef) -> ProjectDb {
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
    let pool = PoolConfig::default();
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

fn keyset() -> KeySet {
    let keys = KeySet::builder().legacy_secret(SECRET);
    keys.build().expect("a good secret")
}

/// A token with these claims, signed with the project's secret.
pub(crate) fn sign(claims: &Value) -> String {
    keyset().sign(claims).expect("signed")
}

pub(crate) fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}

pub(crate) fn token() -> String {
    sign(&json!({ "role": "authenticated", "sub": "ann", "exp": now() + 3600 }))
}

/// Tells functions where the test listens.
struct TestHost(SocketAddr);

impl FunctionHost for TestHost {
    fn surroundings<'a>(
        &'a self,
        _project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<FunctionSurroundings, Box<dyn Error + Send + Sync>>> {
        let keys = |text: &str| BTreeMap::from([("default".to_owned(), Secret::new(text))]);
        let told = FunctionSurroundings {
            // Not where the test listens: so it is the only private address that can be reached.
            api_url: format!("http://127.80.76.73:{}", self.0.port()),
            public_url: "https://api.example".to_owned(),
            database_url: Secret::new("postgresql://postgres:secret@127.80.76.73:5432/postgres"),
            anon_key: Secret::new("the anon key"),
            service_role_key: Secret::new("the service key"),
            publishable_keys: keys(PUBLISHABLE_KEY),
            secret_keys: keys(SECRET_KEY),
        };
        Box::pin(async move { Ok(told) })
    }
}

/// Paths and texts.
type Files = Vec<(String, String)>;

/// Deployed functions in memory.
#[derive(Default)]
pub(crate) struct TestShelf {
    functions: Mutex<BTreeMap<String, (DeployedFunction, Files)>>,
    secrets: Mutex<BTreeMap<String, String>>,
    /// Whoever asks for functions waits for it with the answer in hand.
    pub(crate) gate: Mutex<Option<Arc<tokio::sync::Semaphore>>>,
}

impl TestShelf {
    /// A new version of a function. Of one that was removed, it is the first of another function.
    pub(crate) fn deploy(&self, slug: &str, files: &[(&str, &str)]) -> FunctionSource {
        let mut functions = self.functions.lock().expect("no panic");
        let before = functions.get(slug).map(|(function, _)| function);
        let (id, version) = before.map_or_else(
            || (Uuid::new_v4(), 1),
            |before| (before.id, before.version + 1),
        );
        let source = FunctionSource {
            entrypoint: format!("supabase/functions/{slug}/index.ts"),
            import_map: None,
            static_patterns: Vec::new(),
        };
        let function = DeployedFunction {
            id,
            slug: slug.to_owned(),
            version,
            verify_jwt: true,
            source: source.clone(),
        };
        let own = |(name, text): &(&str, &str)| {
            (format!("supabase/functions/{name}"), (*text).to_owned())
        };
        let files = files.iter().map(own).collect();
        functions.insert(slug.to_owned(), (function, files));
        source
    }

    /// From now on nobody needs a token for it.
    pub(crate) fn open(&self, slug: &str) {
        let mut functions = self.functions.lock().expect("no panic");
        functions.get_mut(slug).expect("a function").0.verify_jwt = false;
    }

    pub(crate) fn remove(&self, slug: &str) {
        self.functions.lock().expect("no panic").remove(slug);
    }

    pub(crate) fn set_secret(&self, name: &str, value: &str) {
        let mut secrets = self.secrets.lock().expect("no panic");
        secrets.insert(name.to_owned(), value.to_owned());
    }
}

impl FunctionShelf for TestShelf {
    fn functions<'a>(
        &'a self,
        _project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<Vec<DeployedFunction>, DbError>> {
        let functions = self.functions.lock().expect("no panic");
        let all = functions
            .values()
            .map(|(function, _)| function.clone())
            .collect();
        let gate = self.gate.lock().expect("no panic").clone();
        Box::pin(async move {
            if let Some(gate) = gate {
                let _passed = gate.acquire().await.expect("an open gate");
            }
            Ok(all)
        })
    }

    fn unpack<'a>(
        &'a self,
        _project: &'a ProjectRef,
        function: &'a DeployedFunction,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), UnpackError>> {
        let functions = self.functions.lock().expect("no panic");
        let files = functions
            .get(&function.slug)
            .map(|(_, files)| files.clone());
        Box::pin(async move {
            for (name, text) in files.ok_or(UnpackError::Gone)? {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().expect("a folder"))?;
                fs::write(path, text)?;
            }
            Ok(())
        })
    }

    fn secrets<'a>(
        &'a self,
        _project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, DbError>> {
        let secrets = self.secrets.lock().expect("no panic").clone();
        Box::pin(async move { Ok(secrets) })
    }
}
