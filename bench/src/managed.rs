//! A PostgreSQL of the benchmark's own, started the way Plinth starts its own: same programs,
//! same configuration, private socket.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use plinth_db::Target;
use plinth_postgres::{Connection, Options, Server, binaries::Search};

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

/// Starts a server below `folder`.
pub(crate) async fn start(folder: &Path) -> anyhow::Result<Server> {
    let mut options = Options::new(folder.join("state"));
    options.binaries = search();
    // Where the unprivileged user cannot enter the folder, the data must still go away with it.
    options.system_dir = folder.join("system");
    let server = Server::start(options, |_| {}).await;
    server.context("the benchmark's own PostgreSQL does not start")
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
