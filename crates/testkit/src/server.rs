//! The server that all tests of one process share.

use std::{
    fs,
    path::{Path, PathBuf},
};

use plinth_db::Target;
use plinth_postgres::{Connection, Server};
use tokio::sync::OnceCell;
use tokio_postgres::Client;

use crate::{folder_with_space, options, options::server_options, prepared};

/// A running PostgreSQL.
pub struct TestServer {
    connection: Connection,
}

/// The server and the runtime that drives it. The runtime of a test ends with the test; the server
/// outlives all of them.
static SHARED: OnceCell<TestServer> = OnceCell::const_new();

impl TestServer {
    /// The process's server, started by the first caller.
    pub async fn shared() -> &'static Self {
        SHARED.get_or_init(Self::start).await
    }

    async fn start() -> Self {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime for the test server");
            runtime.block_on(async move {
                let folder = folder_with_space(MAX_DATABASE_BYTES);
                remove_stale_folders(&folder);
                let state_dir = folder.join(format!("{PREFIX}{}", std::process::id()));
                prepared::put_at(&state_dir).await;
                let server = Server::start(server_options(state_dir), |_| {})
                    .await
                    .expect("PostgreSQL for tests");
                let connection = server.connection().clone();
                sender
                    .send(connection)
                    .expect("a receiver waits for the server");
                std::future::pending::<()>().await;
            });
        };
        std::thread::Builder::new()
            .name("testkit-postgres".to_owned())
            .spawn(run)
            .expect("a thread for the test server");
        Self {
            connection: receiver.await.expect("the test server starts"),
        }
    }

    /// The superuser on the maintenance database.
    pub fn admin(&self) -> Target {
        options::admin(&self.connection)
    }

    /// A connection of the superuser to the maintenance database.
    pub async fn connect(&self) -> Client {
        let connected = self.admin().connect().await;
        connected.expect("the test server accepts connections")
    }

    /// How to reach it with another driver.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

const PREFIX: &str = "plinth-testkit-";
/// Upper bound for the databases of one test process.
const MAX_DATABASE_BYTES: u64 = 10 << 30;

/// Servers stop when their process ends, but their folders remain.
fn remove_stale_folders(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
        if let Some(pid) = pid
            && !is_alive(pid)
        {
            let data = fs::read_to_string(entry.path().join("data-location"));
            if let Ok(data) = data {
                _ = fs::remove_dir_all(data.trim());
            }
            _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_alive(pid: i32) -> bool {
    rustix::process::Pid::from_raw(pid)
        .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}
