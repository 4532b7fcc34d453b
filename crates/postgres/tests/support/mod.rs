//! What the tests with a real server share: where PostgreSQL is, folders, connections.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plinth_postgres::binaries::{self, Search};
use plinth_postgres::{Connection, Options, Server, Source, State};
use tokio_postgres::{Client, NoTls};

/// Generous, because the machine may be busy with other tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The installations to test with: the package of the runtime folder and the system's own.
pub(crate) fn installations() -> Vec<(String, Search)> {
    let mut found = Vec::new();
    let searches = [
        (
            "the npm package",
            Search {
                bin_dir: None,
                runtime_dirs: vec![runtime_dir()],
            },
        ),
        ("the system's PostgreSQL", Search::default()),
    ];
    for (name, search) in searches {
        match binaries::find(&search, None) {
            Ok(binaries) if binaries.source == Source::System && name == "the npm package" => {
                eprintln!("skipped: {name}: run `npm ci` in runtime/ to test with it");
            }
            Ok(binaries) => found.push((format!("{name} {}", binaries.version), search)),
            Err(error) => eprintln!("skipped: {name}: {error}"),
        }
    }
    assert!(
        !found.is_empty(),
        "these tests need a PostgreSQL: run `npm ci` in runtime/"
    );
    found
}

/// The npm package's folder, where it is installed.
pub(crate) fn package() -> Option<PathBuf> {
    let search = Search {
        bin_dir: None,
        runtime_dirs: vec![runtime_dir()],
    };
    let found = binaries::find(&search, None).ok();
    let Some(found) = found.filter(|found| found.source == Source::Package) else {
        eprintln!("skipped: run `npm ci` in runtime/ to test with the package");
        return None;
    };
    found.bin_dir.ancestors().nth(2).map(Path::to_owned)
}

/// The installation for tests that need only one.
pub(crate) fn installation() -> Search {
    installations().swap_remove(0).1
}

fn runtime_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime")
}

/// A folder that an unprivileged user can pass through, as project folders usually are.
pub(crate) fn project_folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("plinth").tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Options for a project folder, with everything that root may need inside of it.
pub(crate) fn options(project: &Path, search: Search) -> Options {
    Options {
        binaries: search,
        system_dir: project.join("system"),
        ..Options::new(project.join(".plinth"))
    }
}

pub(crate) async fn start(options: Options) -> Server {
    Server::start(options, |entry| {
        eprintln!("{}: {}", entry.level.as_str(), entry.message);
    })
    .await
    .unwrap()
}

/// The sentence that a start fails with.
pub(crate) async fn startup_error(options: Options) -> String {
    match Server::start(options, |_| {}).await {
        Ok(server) => {
            server.stop(TEST_TIMEOUT).await;
            panic!("the server should not have started");
        }
        Err(error) => error.to_string(),
    }
}

pub(crate) async fn connect(connection: &Connection) -> Client {
    try_connect(connection).await.unwrap()
}

pub(crate) async fn try_connect(connection: &Connection) -> Result<Client, tokio_postgres::Error> {
    let mut config = tokio_postgres::Config::new();
    config
        .host_path(&connection.socket_dir)
        .port(connection.port)
        .user(&connection.superuser)
        .password(&connection.password)
        .dbname("postgres");
    let (client, work) = config.connect(NoTls).await?;
    tokio::spawn(work);
    Ok(client)
}

pub(crate) async fn text(client: &Client, query: &str) -> String {
    client.query_one(query, &[]).await.unwrap().get(0)
}

/// The number of the postmaster, from its pid file.
pub(crate) fn postmaster(server: &Server) -> i32 {
    let text = fs::read_to_string(server.data_dir().join("postmaster.pid")).unwrap();
    text.lines().next().unwrap().parse().unwrap()
}

pub(crate) fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Waits until the server has been through a restart and is ready again.
pub(crate) async fn wait_for_restart(state: &mut tokio::sync::watch::Receiver<State>) -> String {
    let restarting = state.wait_for(|state| matches!(state, State::Restarting { .. }));
    let seen = tokio::time::timeout(TEST_TIMEOUT, restarting)
        .await
        .unwrap()
        .unwrap()
        .clone();
    let State::Restarting { reason } = seen else {
        unreachable!("the condition says so")
    };
    let ready = state.wait_for(|state| *state == State::Ready);
    tokio::time::timeout(TEST_TIMEOUT, ready)
        .await
        .unwrap()
        .unwrap();
    reason
}
