//! A server that a benchmark runs.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{child::die_with_us, start::http, work_folder};

/// Timeout of the start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// The server at work. Dropped, it is stopped.
pub(crate) struct Served {
    child: Child,
    folder: TempDir,
}

impl Served {
    /// Waits until the path answers 200. Must be called on the main thread (`die_with_us`).
    pub(crate) fn start(mut command: Command, port: u16, path: &str) -> anyhow::Result<Self> {
        let folder = work_folder::create()?;
        let log = File::create(folder.path().join("log"))?;
        die_with_us(&mut command, Signal::TERM);
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} does not run", command.get_program().display()))?;
        let mut served = Self { child, folder };
        let begun = Instant::now();
        while http::status(port, path) != Some(200) {
            if let Some(status) = served.child.try_wait()? {
                bail!("it ended with {status}:\n{}", served.log_tail());
            }
            if begun.elapsed() > START_TIMEOUT {
                bail!("{path} does not respond 200:\n{}", served.log_tail());
            }
            thread::sleep(POLL);
        }
        Ok(served)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
            && let Ok(None) = self.child.try_wait()
        {
            _ = kill_process(pid, Signal::TERM);
        }
        let end = Instant::now() + STOP_TIMEOUT;
        while let Ok(None) = self.child.try_wait() {
            if Instant::now() > end {
                _ = self.child.kill();
            }
            thread::sleep(POLL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_at_once_is_reported_with_its_last_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such database; exit 3"]);
        let error = Served::start(command, 1, "/").err().unwrap().to_string();
        assert!(error.contains("no such database"), "{error}");
    }
}
