//! The running server and its handle.
//!
//! `prepare` gets the disk ready, `process` runs one postmaster, `supervise` keeps one running.

mod exit_reason;
mod prepare;
mod process;
mod process_table;
mod stale_lock;
mod stale_server;
mod supervise;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::binaries::{Search, Version};
use crate::error::{Error, Result};
use crate::layout::PORT;
use crate::log_line::LogEntry;

/// Receives each entry of the server's log. It is called on a runtime thread and must not block.
pub(crate) type OnLog = Arc<dyn Fn(LogEntry) + Send + Sync>;

/// What to run and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The project's state folder, usually `.plinth`. It is created where it is missing.
    pub state_dir: PathBuf,
    /// Where to look for the PostgreSQL programs.
    pub binaries: Search,
    /// For data and programs that the unprivileged user could not reach; used only by root.
    pub system_dir: PathBuf,
    /// The bootstrap superuser of a new database.
    pub superuser: String,
    /// Server settings that replace or add to Plinth's defaults.
    pub settings: BTreeMap<String, String>,
    /// A starting server that logs nothing for this long counts as stuck. Crash recovery may take
    /// longer, but then the server logs its progress.
    pub startup_silence_timeout: Duration,
}

impl Options {
    /// The defaults for a state folder.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            binaries: Search::default(),
            system_dir: PathBuf::from("/var/lib/plinth"),
            superuser: "supabase_admin".to_owned(),
            settings: BTreeMap::new(),
            startup_silence_timeout: Duration::from_secs(60),
        }
    }
}

/// How to reach the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Connection {
    /// The folder to pass as `host`.
    pub socket_dir: PathBuf,
    /// Only part of the socket's file name.
    pub port: u16,
    pub superuser: String,
    pub password: String,
}

impl Connection {
    /// The socket's path, for callers that speak the wire protocol without a driver.
    pub fn socket(&self) -> PathBuf {
        self.socket_dir.join(format!(".s.PGSQL.{}", self.port))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Connection")
            .field("socket_dir", &self.socket_dir)
            .field("port", &self.port)
            .field("superuser", &self.superuser)
            .field("password", &"***")
            .finish()
    }
}

/// What the server is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It accepts connections.
    Ready,
    /// It ended unexpectedly and is being started again.
    Restarting { reason: String },
    /// It was asked to stop, and did.
    Stopped,
}

/// A supervised PostgreSQL server.
///
/// Dropping it asks the server to stop without waiting for it; [`Server::stop`] waits.
pub struct Server {
    connection: Connection,
    version: Version,
    data_dir: PathBuf,
    state: watch::Receiver<State>,
    stop: mpsc::Sender<Duration>,
}

impl Server {
    /// Prepares the folder, makes a database where there is none, starts the server and returns
    /// when it accepts connections. From then on it is restarted whenever it ends by itself.
    pub async fn start(
        options: Options,
        on_log: impl Fn(LogEntry) + Send + Sync + 'static,
    ) -> Result<Self> {
        let superuser = options.superuser.clone();
        let silence_timeout = options.startup_silence_timeout;
        let prepared = tokio::task::spawn_blocking(move || prepare::prepare(&options))
            .await
            .map_err(|cause| Error::StartFailed {
                reason: cause.to_string(),
            })??;

        let connection = Connection {
            socket_dir: prepared.socket_dir.path.clone(),
            port: PORT,
            superuser,
            password: prepared.password,
        };
        let launch = process::Launch {
            program: prepared.binaries.program("postgres"),
            account: prepared.account,
            data_dir: prepared.data_dir.clone(),
            socket: connection.socket(),
            arguments: crate::config::command_line(&prepared.data_dir, &prepared.socket_dir),
            silence_timeout,
            on_log: Arc::new(on_log),
        };
        let (stop, state) = supervise::start(launch, prepared.lock).await?;
        Ok(Self {
            connection,
            version: prepared.binaries.version,
            data_dir: prepared.data_dir,
            state,
            stop,
        })
    }

    /// How to reach the server; it stays the same across restarts.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The version of the running server.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The folder that holds the database, which may lie outside of the state folder.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// What the server is doing, now and whenever it changes.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Ends all connections and stops the server cleanly; after `timeout` without the final
    /// checkpoint, in which case the next start recovers. Returns when it is gone.
    pub async fn stop(&self, timeout: Duration) {
        // A closed channel means that it has stopped already.
        _ = self.stop.send(timeout).await;
        _ = self
            .state
            .clone()
            .wait_for(|state| *state == State::Stopped)
            .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_password() {
        let connection = Connection {
            socket_dir: "/run".into(),
            port: PORT,
            superuser: "supabase_admin".to_owned(),
            password: "open sesame".to_owned(),
        };

        assert!(!format!("{connection:?}").contains("open sesame"));
    }
}
