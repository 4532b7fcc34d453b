//! A running server.

use std::{
    fs::{self, File},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::{Ended, Folder, Http, kill, prepared, wait_for_exit};

/// The first start makes a database; a busy machine takes its time.
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(40);

/// A `plinth` that serves a folder, until it is dropped.
pub(crate) struct Instance<'a> {
    folder: &'a Folder,
    child: Child,
    output: TempDir,
    /// What `status -o json` said once it came up.
    pub(crate) status: Value,
}

impl<'a> Instance<'a> {
    /// `plinth start --port auto`, once it responds. In an empty folder it finds the state of an
    /// installation that has been started before, unless the database is elsewhere.
    pub(crate) fn start(folder: &'a Folder, args: &[&str]) -> Self {
        if !args.contains(&"--database-url") {
            prepared::put_into(folder);
        }
        Self::first_start(folder, args)
    }

    /// The same in a folder as it is.
    pub(crate) fn first_start(folder: &'a Folder, args: &[&str]) -> Self {
        Self::spawn(folder, &[&["start", "--port", "auto"], args].concat()).ready()
    }

    /// Any command that serves, without waiting for it.
    pub(crate) fn spawn(folder: &'a Folder, args: &[&str]) -> Self {
        Self::spawn_command(folder, folder.command(args))
    }

    pub(crate) fn spawn_command(folder: &'a Folder, mut command: Command) -> Self {
        let output = tempfile::tempdir().expect("a folder for output");
        let create = |name: &str| File::create(output.path().join(name)).expect("a file");
        let child = command
            .stdin(Stdio::null())
            .stdout(create("stdout"))
            .stderr(create("stderr"))
            .spawn()
            .expect("plinth starts");
        Self {
            folder,
            child,
            output,
            status: Value::Null,
        }
    }

    /// Waits until `plinth status` succeeds.
    pub(crate) fn ready(mut self) -> Self {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                panic!(
                    "plinth ended with {status}:\n{}{}",
                    self.stdout(),
                    self.stderr()
                );
            }
            if self.folder.state().join("running.json").exists() {
                let status = self.cli(&["status", "-o", "json"]);
                if status.code == Some(0) {
                    self.status = status.json();
                    return self;
                }
            }
            assert!(
                began.elapsed() < START_LIMIT,
                "plinth does not come up:\n{}",
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn api_url(&self) -> &str {
        self.value("API_URL")
    }

    pub(crate) fn db_url(&self) -> &str {
        self.value("DB_URL")
    }

    /// A value of `plinth status`.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.status[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name} in {}", self.status))
    }

    /// Requests to its API port.
    pub(crate) fn http(&self) -> Http {
        Http::new(self.api_url())
    }

    pub(crate) fn cli(&self, args: &[&str]) -> Ended {
        self.folder.cli(args)
    }

    /// A command that must succeed; what it prints as JSON.
    #[track_caller]
    pub(crate) fn cli_json(&self, args: &[&str]) -> Value {
        self.cli(&[args, &["-o", "json"]].concat())
            .expect_success()
            .json()
    }

    pub(crate) fn stdout(&self) -> String {
        self.read("stdout")
    }

    pub(crate) fn stderr(&self) -> String {
        self.read("stderr")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.output.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Ends it as `systemctl stop` would.
    pub(crate) fn stop(mut self) -> ExitStatus {
        kill(self.pid(), Signal::TERM);
        let ended = wait_for_exit(&mut self.child, STOP_LIMIT);
        ended.unwrap_or_else(|| panic!("plinth does not stop:\n{}", self.stderr()))
    }

    /// Waits for it to end by itself.
    pub(crate) fn wait(mut self) -> ExitStatus {
        let ended = wait_for_exit(&mut self.child, STOP_LIMIT);
        ended.unwrap_or_else(|| panic!("plinth does not end:\n{}", self.stderr()))
    }

    /// Ends it without a chance to do anything about it.
    pub(crate) fn kill9(mut self) {
        kill(self.pid(), Signal::KILL);
        self.child.wait().expect("a killed process ends");
    }
}

impl Drop for Instance<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("stdout of plinth:\n{}", self.stdout());
            eprintln!("stderr of plinth:\n{}", self.stderr());
        }
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        kill(self.pid(), Signal::TERM);
        if wait_for_exit(&mut self.child, STOP_LIMIT).is_none() {
            _ = self.child.kill();
            _ = self.child.wait();
        }
    }
}
