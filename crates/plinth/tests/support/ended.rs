//! Commands that end: what they printed, how they ended, how long they took.

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{kill, wait_for_exit};

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ended {
    /// The exit code must be this one.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn expect_success(self) -> Self {
        self.expect_code(0)
    }

    /// What was printed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}\n{}", self.stdout, self.stderr))
    }

    /// Stderr has all of these.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "no {part:?} in:\n{}",
                self.stderr
            );
        }
        self
    }

    /// The one line that names the failure.
    #[track_caller]
    pub(crate) fn failure(&self) -> &str {
        let mut failures = self
            .stderr
            .lines()
            .filter_map(|line| line.strip_prefix("plinth: "));
        let first = failures
            .next()
            .unwrap_or_else(|| panic!("no failure in:\n{}", self.stderr));
        assert!(
            failures.next().is_none(),
            "more than one failure:\n{}",
            self.stderr
        );
        first
    }
}

/// On a busy machine workers of functions, which have a lower priority, take long to start.
const BOOT_TIMEOUT: (&str, &str) = ("PLINTH_FUNCTIONS_BOOT_TIMEOUT", "60s");

/// The program, without PLINTH_ variables of the environment.
pub(crate) fn plinth() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plinth"));
    let own = |name: &str| name.starts_with("PLINTH_") && name != "PLINTH_RUNTIME_DIR";
    for (name, _) in std::env::vars().filter(|(name, _)| own(name)) {
        command.env_remove(name);
    }
    command.env(BOOT_TIMEOUT.0, BOOT_TIMEOUT.1);
    command
}

/// Runs a command that must end within `limit`; one that does not is killed.
pub(crate) fn run_to_end(command: &mut Command, input: Option<&str>, limit: Duration) -> Ended {
    let output = tempfile::tempdir().expect("a folder for output");
    let began = Instant::now();
    let child = command
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(create(&output.path().join("stdout")))
        .stderr(create(&output.path().join("stderr")))
        .spawn();
    let mut child = child.expect("the program starts");
    if let Some(input) = input {
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin
            .write_all(input.as_bytes())
            .expect("the program reads");
    }
    let code = wait(&mut child, limit);
    let took = began.elapsed();
    let read = |name: &str| {
        let bytes = std::fs::read(output.path().join(name)).expect("its output");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ended {
        code,
        stdout: read("stdout"),
        stderr: read("stderr"),
        took,
    }
}

fn wait(child: &mut Child, limit: Duration) -> Option<i32> {
    if let Some(status) = wait_for_exit(child, limit) {
        return status.code();
    }
    kill(child.id(), rustix::process::Signal::KILL);
    _ = child.wait();
    None
}

fn create(path: &Path) -> File {
    File::create(path).expect("a file for output")
}
