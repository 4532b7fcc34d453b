//! A PostgreSQL of the benchmark's own, started the way Plinth starts its own: same programs,
//! same configuration, private socket.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use plinth_db::Target;
use plinth_postgres::{Connection, LogEntry, Options, Server, binaries::Search};

/// Where to look for PostgreSQL: `PLINTH_BENCH_BIN_DIR`, `PLINTH_RUNTIME_DIR`, the workspace's
/// `runtime/`, then the system.
pub(crate) fn search() -> Search {
    Search {
        bin_dir: env::var_os("PLINTH_BENCH_BIN_DIR").map(PathBuf::from),
        runtime_dirs: vec![runtime_dir()],
    }
}

/// The folder whose `node_modules` hold the embedded PostgreSQL.
pub(crate) fn runtime_dir() -> PathBuf {
    let in_workspace = || workspace().join("runtime");
    env::var_os("PLINTH_RUNTIME_DIR").map_or_else(in_workspace, PathBuf::from)
}

/// The workspace that this program was built in.
pub(crate) fn workspace() -> PathBuf {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.parent().unwrap_or(bench).to_owned()
}

/// How a side connects: as an authenticator, never as a superuser.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) socket_dir: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
}

impl Login {
    /// As programs take it.
    pub(crate) fn url(&self) -> String {
        let Self {
            socket_dir,
            port,
            user,
            password,
            database,
            ..
        } = self;
        let host = socket_dir.display();
        format!(
            "postgresql://{user}:{password}@/{database}?host={host}&port={port}&sslmode=disable"
        )
    }
}

/// Starts a server below `folder`.
pub(crate) async fn start(folder: &Path) -> anyhow::Result<Server> {
    start_with(folder, &[]).await
}

/// The same with settings of its own.
pub(crate) async fn start_with(folder: &Path, settings: &[(&str, &str)]) -> anyhow::Result<Server> {
    start_logging(folder, settings, |_| {}).await
}

/// The same, with a reader of the server's log.
pub(crate) async fn start_logging(
    folder: &Path,
    settings: &[(&str, &str)],
    on_log: impl Fn(LogEntry) + Send + Sync + 'static,
) -> anyhow::Result<Server> {
    let mut options = Options::new(folder.join("state"));
    let settings = settings
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()));
    options.settings = settings.collect();
    options.binaries = search();
    // Where the unprivileged user cannot enter the folder, the data must still go away with it.
    options.system_dir = folder.join("system");
    let server = Server::start(options, on_log).await;
    server.context("the benchmark's own PostgreSQL does not start")
}

/// The process whose children are all of a server's processes.
pub(crate) fn pid(server: &Server) -> anyhow::Result<u32> {
    let text = fs::read_to_string(server.data_dir().join("postmaster.pid"))?;
    let first = text.lines().next();
    let pid = first.and_then(|line| line.trim().parse().ok());
    pid.context("the server's pid file is empty")
}

/// The superuser on the maintenance database.
pub(crate) fn admin(connection: &Connection) -> Target {
    let Connection {
        socket_dir,
        port,
        superuser,
        password,
    } = connection;
    Target::unix(socket_dir, *port, superuser, password, "template1")
}
