//! A folder of functions, the service for it on a port of its own, and an HTTP client.

use std::{
    collections::BTreeMap,
    error::Error,
    fs::{self, Permissions},
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::Extension;
use plinth_db::{DbError, PoolConfig};
use plinth_functions::{Deno, FunctionsParts, FunctionsService, UserTable, routes};
use plinth_log::{LogStore, Query, Record, Source, WriterThread};
use plinth_project::{
    BoxFuture, DeployedFunction, FunctionEnvironment, FunctionHost, FunctionRunner as _,
    FunctionSource, FunctionStore, Project, ProjectRef, UnpackError,
};
use plinth_settings::Settings;
use plinth_testkit::{
    Listener, ProjectBuilder, ProjectLogins, TestDatabase, bind_loopback, load_settings, until_some,
};
use plinth_token::Secret;
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) use plinth_testkit::{
    ANN, PUBLISHABLE_KEY, SECRET_KEY, TEST_TIMEOUT, now, sign, until, user_token,
};

/// The service over a folder of the test's own.
pub(crate) struct TestFunctions {
    pub(crate) address: SocketAddr,
    pub(crate) project: Project,
    pub(crate) service: FunctionsService,
    pub(crate) store: Arc<TestStore>,
    pub(crate) client: reqwest::Client,
    pub(crate) logs: LogStore,
    _writer: WriterThread,
    _db: TestDatabase,
    _listener: Listener,
    folder: TempDir,
}

/// A process that was started for a function, or prewarmed.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Whether it waits for a function.
    pub(crate) is_prewarmed: bool,
}

/// How a test's service differs from the default.
#[derive(Default)]
pub(crate) struct TestOptions<'a> {
    pub(crate) files: &'a [(&'a str, &'a str)],
    pub(crate) settings: &'a [(&'a str, &'a str)],
    pub(crate) has_no_deno: bool,
    pub(crate) is_production: bool,
    pub(crate) max_workers: Option<usize>,
}

impl TestFunctions {
    /// One function.
    pub(crate) async fn of(code: &str) -> Self {
        Self::with(&[("hello/index.ts", code)], &[]).await
    }

    pub(crate) async fn with(files: &[(&str, &str)], settings: &[(&str, &str)]) -> Self {
        Self::start(TestOptions {
            files,
            settings,
            ..TestOptions::default()
        })
        .await
    }

    pub(crate) async fn start(options: TestOptions<'_>) -> Self {
        // Not below `/tmp`, which is private to workers.
        let folder = TempDir::new_in("/var/tmp").expect("a folder");
        // Workers of a Plinth that runs as root have other users.
        let open = Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), open).expect("an open folder");
        write_all(folder.path(), options.files);
        let (logs, writer) =
            LogStore::open(folder.path().join("logs"), plinth_log::Config::default())
                .expect("a log store");
        let writer = writer.start().expect("a writer");
        let db = TestDatabase::create().await;
        let logins = ProjectLogins::create(&db).await;
        let project = ProjectBuilder::new(logins.connect(&db, PoolConfig::default()).await)
            .reference(logins.reference)
            .settings(load(options.settings))
            .logs(logs.clone())
            .build();
        let (socket, address) = bind_loopback().await;
        let runtime_dirs = if options.has_no_deno {
            vec![]
        } else {
            runtime_dirs()
        };
        let service = FunctionsService::new(FunctionsParts {
            deno: Deno::find(&runtime_dirs).for_workers(),
            home: folder.path().join("home"),
            users: UserTable {
                path: folder.path().join("users"),
                state: folder.path().to_owned(),
            },
            folder: Some(folder.path().to_owned()),
            is_developing: !options.is_production,
            max_workers: options.max_workers,
            internal_address: None,
            host: Arc::new(TestHost(address)),
        });
        let store = Arc::new(TestStore::default());
        service.attach_store(store.clone());
        let router = routes(service.clone()).layer(Extension(project.clone()));
        Self {
            address,
            project,
            service,
            store,
            client: reqwest::Client::new(),
            logs,
            _writer: writer,
            _db: db,
            _listener: Listener::serve((socket, address), router),
            folder,
        }
    }

    /// Watches the folder from now on.
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

    /// The system users that projects have.
    pub(crate) fn system_users(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("users")).expect("a table");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| !name.starts_with('.')).collect()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write_all(self.folder.path(), &[(name, text)]);
    }

    /// Announces that something was deployed, removed or set.
    pub(crate) async fn changed(&self) {
        self.service.reload(self.project.reference()).await;
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

    /// Status and text of a response.
    pub(crate) async fn fetch(&self, path: &str) -> (u16, String) {
        read(self.get(path).send().await.expect("a response")).await
    }

    /// An error response of the service.
    pub(crate) async fn failure(&self, path: &str) -> (u16, Value) {
        let response = self.get(path).send().await.expect("a response");
        let status = response.status().as_u16();
        (status, response.json().await.expect("JSON"))
    }

    /// The processes of this test's workers.
    pub(crate) fn worker_pids(&self) -> Vec<i32> {
        let processes = self.processes().into_iter();
        let workers = processes.filter(|process| !process.is_prewarmed);
        workers.map(|process| process.pid).collect()
    }

    /// The prewarmed process, as soon as there is one.
    pub(crate) async fn prewarmed_pid(&self) -> i32 {
        until_some(async || {
            let processes = self.processes();
            let prewarmed = processes.iter().find(|process| process.is_prewarmed);
            prewarmed.map(|process| process.pid)
        })
        .await
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
                let is_prewarmed = !serves && !line.contains("--preload");
                found.push(Process { pid, is_prewarmed });
            }
        }
        found
    }

    /// Waits until a function has logged exactly this.
    pub(crate) async fn logged(&self, message: &str) {
        self.records_with(|record| record.message == message).await;
    }

    /// Records of functions, as soon as there is one that fits.
    pub(crate) async fn records_with(&self, fits: impl Fn(&Record) -> bool) -> Vec<Record> {
        until_some(async || {
            let mut query = Query::project(self.project.reference().as_str());
            query.sources = vec![Source::Functions];
            query.limit = 200;
            let records = self.logs.search(&query).expect("readable").records;
            records.iter().any(&fits).then_some(records)
        })
        .await
    }
}

/// Workers that outlive the test's folder would create parts of it again.
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

/// Calls the function until the response is the expected one.
pub(crate) async fn wait_for_text(functions: &TestFunctions, path: &str, expected: &str) {
    until(async || functions.fetch(path).await.1 == expected).await;
}

fn write_all(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join("supabase/functions").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

pub(crate) fn runtime_dirs() -> Vec<PathBuf> {
    let configured = std::env::var_os("PLINTH_RUNTIME_DIR").map(PathBuf::from);
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime"));
    configured.into_iter().chain([source]).collect()
}

pub(crate) fn load(settings: &[(&str, &str)]) -> Settings {
    let usual = [("plinth.functions.boot_timeout", "60s")];
    load_settings(usual.iter().chain(settings))
}

/// The URLs and keys of the test's project.
struct TestHost(SocketAddr);

impl FunctionHost for TestHost {
    fn environment<'a>(
        &'a self,
        _project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<FunctionEnvironment, Box<dyn Error + Send + Sync>>> {
        let keys = |text: &str| BTreeMap::from([("default".to_owned(), Secret::new(text))]);
        let environment = FunctionEnvironment {
            // Not where the test listens: it is the only private address that functions can reach.
            api_url: format!("http://127.80.76.73:{}", self.0.port()),
            public_url: "https://api.example".to_owned(),
            database_url: Secret::new("postgresql://postgres:secret@127.80.76.73:5432/postgres"),
            anon_key: Secret::new("the anon key"),
            service_role_key: Secret::new("the service key"),
            publishable_keys: keys(PUBLISHABLE_KEY),
            secret_keys: keys(SECRET_KEY),
        };
        Box::pin(async move { Ok(environment) })
    }
}

/// Paths and texts.
type Files = Vec<(String, String)>;

/// Deployed functions in memory.
#[derive(Default)]
pub(crate) struct TestStore {
    functions: Mutex<BTreeMap<String, (DeployedFunction, Files)>>,
    secrets: Mutex<BTreeMap<String, String>>,
    /// Delays listing functions after they were read.
    pub(crate) gate: Mutex<Option<Arc<tokio::sync::Semaphore>>>,
    /// How many have come to the gate.
    pub(crate) came_to_gate: AtomicUsize,
}

impl TestStore {
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

    /// Switches `verify_jwt` off.
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

impl FunctionStore for TestStore {
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
                self.came_to_gate.fetch_add(1, Ordering::SeqCst);
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
