//! One test program: runs it and reads what it reports about each test.
//!
//! libtest's JSON is the only form that has the duration of each test. It is unstable, so the
//! program is allowed to use it (`RUSTC_BOOTSTRAP`); what was compiled is not concerned.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::commands;

/// How long a test program that has ended may keep its output silent before reading stops.
const OUTPUT_GRACE: Duration = Duration::from_secs(2);

/// One finished test.
#[derive(Debug, PartialEq)]
pub(super) struct TestRun {
    pub(super) name: String,
    pub(super) duration: Duration,
    /// What a failed test printed.
    pub(super) failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Event {
    Test {
        event: String,
        name: String,
        #[serde(default)]
        exec_time: f64,
        #[serde(default)]
        stdout: String,
        message: Option<String>,
    },
    #[serde(other)]
    Other,
}

/// Runs a test program and hands over each test as it finishes.
///
/// Fails if the program ends otherwise than by reporting its tests, for example by a signal.
pub(super) fn run(command: &mut Command, mut on_test: impl FnMut(TestRun)) -> Result<()> {
    let mut child = command
        .args([
            "-Z",
            "unstable-options",
            "--format",
            "json",
            "--report-time",
        ])
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(commands::printed()?)
        .spawn()
        .context("the test program could not be started")?;
    let mut has_failed = false;
    let stdout = child.stdout.take().context("it has an output")?;
    let (sender, lines) = mpsc::channel();
    // Not joined: a process that the tests left behind may hold the output open for ever.
    thread::spawn(move || {
        let lines = BufReader::new(stdout).split(b'\n').map_while(Result::ok);
        lines.map(|line| sender.send(line)).all(|sent| sent.is_ok());
    });
    let mut status = None;
    let status = loop {
        match lines.recv_timeout(OUTPUT_GRACE) {
            Ok(line) => {
                if let Some(test) = read(&String::from_utf8_lossy(&line)) {
                    has_failed |= test.failure.is_some();
                    on_test(test);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                break child.wait().context("the test program is lost")?;
            }
            Err(RecvTimeoutError::Timeout) => match status {
                Some(status) => break status,
                None => status = child.try_wait().context("the test program is lost")?,
            },
        }
    };
    // A failed test gives 101 as well, and was handed over already.
    if status.success() || (has_failed && status.code() == Some(101)) {
        return Ok(());
    }
    anyhow::bail!("the test program ended with {status}")
}

/// A test that has ended; other lines say nothing of interest.
fn read(line: &str) -> Option<TestRun> {
    let Ok(Event::Test {
        event,
        name,
        exec_time,
        stdout,
        message,
    }) = serde_json::from_str(line)
    else {
        return None;
    };
    let failure = match event.as_str() {
        "ok" => None,
        "failed" => Some(format!("{stdout}{}", message.unwrap_or_default())),
        "timeout" | "started" | "ignored" => return None,
        other => Some(format!("reported {other:?}")),
    };
    Some(TestRun {
        name,
        duration: Duration::from_secs_f64(exec_time),
        failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finished_tests_count() {
        let ok = r#"{ "type": "test", "name": "a::b", "event": "ok", "exec_time": 0.25 }"#;
        let test = read(ok).expect("it finished");
        assert_eq!(test.name, "a::b");
        assert_eq!(test.duration, Duration::from_millis(250));
        assert_eq!(test.failure, None);

        assert_eq!(
            read(r#"{ "type": "test", "event": "started", "name": "a" }"#),
            None
        );
        assert_eq!(
            read(r#"{ "type": "suite", "event": "started", "test_count": 3 }"#),
            None
        );
        assert_eq!(read("printed by a test that bypasses the capture"), None);
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_run_up() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 40 & exit 0", "sh"]);
        let started = std::time::Instant::now();
        run(&mut command, |_| ()).expect("it succeeds");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_failure_keeps_what_the_test_printed() {
        let failed = r#"{ "type": "test", "name": "a", "event": "failed", "exec_time": 1.5,
                          "stdout": "assertion failed\n" }"#;
        let test = read(&failed.replace('\n', "")).expect("it finished");
        assert_eq!(test.failure.as_deref(), Some("assertion failed\n"));
    }
}
