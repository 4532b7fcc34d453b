//! The `plinth` program under test: found or built, started in a folder of its own, used and
//! stopped as users do.

use std::{
    env,
    fs::{self, File},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::http;
use crate::{child::die_with_us, managed, processes, work_folder};

/// Timeout, far beyond every goal.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(40);
const STATUS_LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// `PLINTH_BIN`, else a release build of this workspace.
pub(crate) fn find() -> anyhow::Result<PathBuf> {
    match env::var_os("PLINTH_BIN") {
        Some(path) => {
            let path = PathBuf::from(path);
            path.canonicalize()
                .with_context(|| format!("PLINTH_BIN={}", path.display()))
        }
        None => build(),
    }
}

fn build() -> anyhow::Result<PathBuf> {
    eprintln!("building plinth ...");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--package",
            "plinth",
            "--bin",
            "plinth",
        ])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(managed::workspace())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(
        output.status.success(),
        "plinth does not build; or set PLINTH_BIN"
    );
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let executable = messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    executable.context("cargo built plinth without saying where it is")
}

/// A folder that `plinth` works in. It may be started there again and again.
pub(crate) struct Installation {
    program: PathBuf,
    folder: TempDir,
    port: u16,
    db_port: u16,
    /// Beyond the ports, for `plinth start`.
    arguments: Vec<String>,
}

impl Installation {
    pub(crate) fn new(program: &Path) -> anyhow::Result<Self> {
        let folder = work_folder::create()?;
        fs::create_dir(folder.path().join("app"))?;
        // Both are held until both are known, lest they be the same one.
        let (first, second) = (free_port()?, free_port()?);
        let (port, db_port) = (first.local_addr()?.port(), second.local_addr()?.port());
        Ok(Self {
            program: program.to_owned(),
            folder,
            port,
            db_port,
            arguments: Vec::new(),
        })
    }

    /// Starts with these arguments as well.
    pub(crate) fn with(mut self, arguments: impl IntoIterator<Item = String>) -> Self {
        self.arguments.extend(arguments);
        self
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Puts a file into its folder.
    pub(crate) fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.path().join("app").join(path);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        Ok(fs::write(path, text)?)
    }

    /// Starts the server; how long until `/health` and `/ready` both answered 200.
    pub(crate) fn start(&self) -> anyhow::Result<(Running<'_>, Duration)> {
        self.start_with(&[])
    }

    /// The same, with more arguments for this time.
    pub(crate) fn start_with(&self, more: &[&str]) -> anyhow::Result<(Running<'_>, Duration)> {
        let log = File::create(self.log())?;
        let begun = Instant::now();
        let mut command = self.command(&["start"]);
        die_with_us(&mut command, Signal::TERM);
        let child = command
            .args(["--port", &self.port.to_string()])
            .args(["--db-port", &self.db_port.to_string()])
            .args(&self.arguments)
            .args(more)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} does not run", self.program.display()))?;
        let mut running = Running {
            child,
            installation: self,
        };
        for path in ["/health", "/ready"] {
            running.wait_for(path, begun)?;
        }
        Ok((running, begun.elapsed()))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let folder = self.folder.path().join("app");
        command
            .args(arguments)
            .arg("--workdir")
            .arg(&folder)
            .current_dir(folder);
        command.env("PLINTH_RUNTIME_DIR", managed::runtime_dir());
        // Environment variables of another Plinth must not leak into this one.
        for name in ["PLINTH_API_URL", "PLINTH_DATA_DIR", "PLINTH_DATABASE_URL"] {
            command.env_remove(name);
        }
        command
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("plinth.log")
    }
}

impl Drop for Installation {
    /// What functions need may lie elsewhere, where their users can enter.
    fn drop(&mut self) {
        let pointer = self.folder.path().join("app/.plinth/functions-location");
        if let Ok(elsewhere) = fs::read_to_string(pointer) {
            _ = fs::remove_dir_all(elsewhere.trim());
        }
    }
}

/// A port that is free, and held as long as the listener lives.
pub(crate) fn free_port() -> anyhow::Result<TcpListener> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)
}

/// What `plinth status` says.
pub(crate) struct Status(Value);

impl Status {
    pub(crate) fn notes(&self, name: &str) -> anyhow::Result<String> {
        let value = self.0[name].as_str().map(str::to_owned);
        value.with_context(|| format!("`plinth status` names no {name}"))
    }
}

/// The server at work. Dropped, it is asked to stop.
pub(crate) struct Running<'a> {
    child: Child,
    installation: &'a Installation,
}

impl Running<'_> {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Runs a command beside the server; how long it took and what it printed.
    pub(crate) fn command(&self, arguments: &[&str]) -> anyhow::Result<(Duration, Value)> {
        let begun = Instant::now();
        let output = self
            .installation
            .command(arguments)
            .args(["-o", "json"])
            .stdin(Stdio::null())
            .output()?;
        let elapsed = begun.elapsed();
        let words = arguments.join(" ");
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`plinth {words}` failed: {complaint}"
        );
        let printed = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("`plinth {words} -o json` prints no JSON"))?;
        Ok((elapsed, printed))
    }

    /// Keys and secrets. The edge may be open a moment before commands find the server.
    pub(crate) fn status(&self) -> anyhow::Result<Status> {
        let begun = Instant::now();
        loop {
            match self.command(&["status"]) {
                Ok((_, status)) => return Ok(Status(status)),
                Err(error) if begun.elapsed() > STATUS_LIMIT => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Asks over HTTP; the response's status.
    pub(crate) fn get(&self, path: &str) -> Option<u16> {
        http::status(self.installation.port, path)
    }

    /// Kills the server without warning, and waits until it is gone.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops the server and everything it started.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        let tree = processes::tree(self.child.id());
        self.ask_to_stop();
        let end = Instant::now() + STOP_TIMEOUT;
        while self.child.try_wait()?.is_none() || tree.iter().any(|pid| processes::is_alive(*pid)) {
            if Instant::now() > end {
                bail!(
                    "plinth or its PostgreSQL does not stop; {}",
                    self.log_tail()
                );
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn wait_for(&mut self, path: &str, begun: Instant) -> anyhow::Result<()> {
        while self.get(path) != Some(200) {
            if let Some(status) = self.child.try_wait()? {
                bail!(
                    "plinth ended with {status} before {path} responded; {}",
                    self.log_tail()
                );
            }
            if begun.elapsed() > START_TIMEOUT {
                bail!("{path} does not respond 200; {}", self.log_tail());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn ask_to_stop(&mut self) {
        if let Ok(None) = self.child.try_wait()
            && let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            _ = kill_process(pid, Signal::TERM);
        }
    }

    fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.installation.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(8).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        format!("its last words:\n{}", lines.join("\n"))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.ask_to_stop();
        let end = Instant::now() + STOP_TIMEOUT;
        while let Ok(None) = self.child.try_wait() {
            if Instant::now() > end {
                // The kernel signals its PostgreSQL.
                _ = self.child.kill();
                _ = self.child.wait();
            }
            thread::sleep(POLL);
        }
    }
}
