//! One postmaster process: spawn, wait until ready, read its log, stop.

use std::fs;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use plinth_child::signal;
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::OnLog;
use super::exit_reason::RecentLog;
use super::stale_server::PidFile;
use crate::account::Account;
use crate::command::unprivileged;
use crate::error::{Error, Result, plain};
use crate::log_line::{Assembler, LineSplitter};

/// How often a starting server is asked whether it is ready.
const READY_POLL: Duration = Duration::from_millis(10);
/// The lines of one log entry are written at once: after this long without input, it is complete.
const ENTRY_IDLE_TIMEOUT: Duration = Duration::from_millis(20);
/// How long to read the log after the exit; orphaned backends keep the pipe open.
const LOG_DRAIN_TIMEOUT: Duration = Duration::from_millis(300);
/// In an immediate shutdown PostgreSQL itself kills its children after five seconds.
const IMMEDIATE_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(7);

/// How to start a server on a prepared folder.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) account: Option<Account>,
    pub(super) data_dir: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) silence_timeout: Duration,
    pub(super) on_log: OnLog,
}

impl Launch {
    /// Starts a postmaster without waiting for it to be ready.
    pub(super) async fn spawn(&self) -> Result<Postmaster> {
        let account = self.account.as_ref();
        // SIGINT asks for a fast shutdown, which leaves nothing to recover.
        let command = unprivileged(&self.program, account, &self.data_dir, Signal::INT);
        let mut command = Command::from(command);
        command.arg("-D").arg(&self.data_dir).args(&self.arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = plinth_child::spawn(command, Signal::INT)
            .await
            .map_err(|cause| Error::StartFailed {
                reason: plain(&cause),
            })?;

        let recent = Arc::new(RecentLog::new());
        let reader = child
            .stderr
            .take()
            .map(|stream| tokio::spawn(read_log(stream, recent.clone(), self.on_log.clone())));
        let (pid_file, silence_timeout) =
            (self.data_dir.join("postmaster.pid"), self.silence_timeout);
        Ok(Postmaster {
            child,
            pid_file,
            silence_timeout,
            recent,
            reader,
        })
    }
}

/// A started postmaster. Dropping it while it runs asks it to stop.
pub(super) struct Postmaster {
    child: Child,
    pid_file: PathBuf,
    silence_timeout: Duration,
    recent: Arc<RecentLog>,
    /// Ends with the stream, or with this value.
    reader: Option<JoinHandle<()>>,
}

impl Postmaster {
    /// Returns when the server accepts connections, or fails with the reason from its log.
    pub(super) async fn wait_until_ready(&mut self) -> Result<()> {
        loop {
            if let Ok(reason) = timeout(READY_POLL, self.wait_for_exit()).await {
                return Err(Error::StartFailed { reason });
            }
            if self.is_ready() {
                return Ok(());
            }
            if self.recent.silent_for() > self.silence_timeout {
                let silent_seconds = self.silence_timeout.as_secs();
                return Err(Error::StartTimedOut { silent_seconds });
            }
        }
    }

    /// Waits for the server to exit and returns the reason.
    pub(super) async fn wait_for_exit(&mut self) -> String {
        let status = match self.child.wait().await {
            Ok(status) => status,
            Err(cause) => return format!("it cannot be watched ({})", plain(&cause)),
        };
        self.explain(status).await
    }

    /// Fast shutdown; after `limit` an immediate one, without the final checkpoint; then a kill.
    pub(super) async fn stop(&mut self, limit: Duration) {
        for (kind, limit) in [
            (Signal::INT, limit),
            (Signal::QUIT, IMMEDIATE_SHUTDOWN_TIMEOUT),
            (Signal::KILL, Duration::from_secs(5)),
        ] {
            signal(&self.child, kind);
            if timeout(limit, self.child.wait()).await.is_ok() {
                break;
            }
            tracing::warn!(
                "shutdown timeout: PostgreSQL did not stop within {} s",
                limit.as_secs_f32()
            );
        }
        self.drain_log().await;
    }

    fn is_ready(&self) -> bool {
        let text = fs::read_to_string(&self.pid_file).unwrap_or_default();
        let Some(file) = PidFile::parse(&text) else {
            return false;
        };
        let pid = file.pid.as_raw_nonzero().get().unsigned_abs();
        file.is_ready && self.child.id() == Some(pid)
    }

    async fn explain(&mut self, status: ExitStatus) -> String {
        self.drain_log().await;
        self.recent.reason(status)
    }

    async fn drain_log(&mut self) {
        if let Some(reader) = &mut self.reader
            && timeout(LOG_DRAIN_TIMEOUT, reader).await.is_ok()
        {
            self.reader = None;
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        signal(&self.child, Signal::INT);
        if let Some(reader) = &self.reader {
            reader.abort();
        }
    }
}

async fn read_log(mut stream: ChildStderr, recent: Arc<RecentLog>, on_log: OnLog) {
    let (mut splitter, mut assembler) = (LineSplitter::default(), Assembler::default());
    let mut buffer = vec![0; 16 * 1024];
    let deliver = |entry| {
        recent.add(&entry);
        on_log(entry);
    };
    loop {
        let length = match timeout(ENTRY_IDLE_TIMEOUT, stream.read(&mut buffer)).await {
            Ok(Ok(length)) => length,
            Ok(Err(_)) => 0,
            Err(_) => {
                assembler.flush().map(deliver);
                stream.read(&mut buffer).await.unwrap_or(0)
            }
        };
        if length == 0 {
            break;
        }
        splitter.push(&buffer[..length], |line| {
            assembler.push(line, SystemTime::now()).map(deliver);
        });
    }
    splitter.finish(|line| _ = assembler.push(line, SystemTime::now()).map(deliver));
    assembler.flush().map(deliver);
}
