//! Runs test programs, a few at a time, and remembers how long each test took.

use std::{
    collections::VecDeque,
    fmt,
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use super::{libtest, threads};
use crate::{commands, report::Seconds, steps::Outcome};

/// Programs at a time. Many tests wait for a server to start or for a timeout, and the last tests of
/// a program leave processors idle.
const PROGRAMS_AT_ONCE: usize = 2;

/// How many of the slowest tests a run names.
const SLOWEST: usize = 20;

/// A test program, ready to run.
pub(super) struct Program {
    /// For the log: `api of plinth-auth`.
    pub(super) name: String,
    pub(super) command: Command,
}

/// How long each test took, over all steps of a run.
#[derive(Default)]
pub(super) struct Durations(Mutex<Vec<(Duration, String)>>);

impl Durations {
    pub(super) fn record(&self, name: String, duration: Duration) {
        let mut durations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        durations.push((duration, name));
    }
}

/// The slowest tests, slowest first; nothing where no test ran.
impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut durations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        durations.sort_by(|one, other| other.cmp(one));
        if !durations.is_empty() {
            writeln!(f, "\nThe slowest of {} tests:", durations.len())?;
        }
        for (duration, name) in durations.iter().take(SLOWEST) {
            writeln!(f, "{:>9}  {name}", Seconds(*duration).to_string())?;
        }
        Ok(())
    }
}

/// Runs all programs, even if one fails.
pub(super) fn run(programs: Vec<Program>, durations: &Durations) -> Result<Outcome> {
    let queue = Mutex::new(VecDeque::from(programs));
    let failed = Mutex::new(Vec::new());
    let log = commands::log()?;
    thread::scope(|scope| {
        for _ in 0..PROGRAMS_AT_ONCE {
            let log = log.as_ref().map(std::fs::File::try_clone).transpose();
            scope.spawn(|| {
                commands::capture(log.unwrap_or_default());
                while let Some(program) = next(&queue) {
                    let name = program.name.clone();
                    if let Err(error) = run_one(program, durations) {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.push(format!("{name}: {error:#}"));
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort();
    if failed.is_empty() {
        Ok(Outcome::Done)
    } else {
        bail!("{}", failed.join("; "))
    }
}

fn next(queue: &Mutex<VecDeque<Program>>) -> Option<Program> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.pop_front()
}

fn run_one(mut program: Program, durations: &Durations) -> Result<()> {
    let started = Instant::now();
    let mut passed = 0;
    let mut failed = Vec::new();
    threads::limit(&mut program.command);
    let ended = libtest::run(&mut program.command, |test| {
        durations.record(format!("{} ({})", test.name, program.name), test.duration);
        match test.failure {
            None => passed += 1,
            Some(printed) => failed.push((test.name, printed)),
        }
    });
    for (name, printed) in &failed {
        commands::print(&format!("---- {name} ({})\n{printed}", program.name))?;
    }
    let (failures, seconds) = (failed.len(), Seconds(started.elapsed()));
    commands::print(&format!(
        "{}: {passed} passed, {failures} failed ({seconds})",
        program.name
    ))?;
    ended?;
    if failures > 0 {
        let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
        bail!("{}", names.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in that reports like a test program.
    fn program(name: &str, script: &str) -> Program {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "sh"]);
        Program {
            name: name.to_owned(),
            command,
        }
    }

    fn reports(event: &str, exit_code: i32) -> String {
        format!(
            r#"echo '{{ "type": "test", "name": "t", "event": "{event}", "exec_time": 2.0 }}'; exit {exit_code}"#
        )
    }

    fn failure(programs: Vec<Program>) -> String {
        match run(programs, &Durations::default()) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_program_runs_and_failing_tests_are_named() {
        let programs = vec![
            program("first", &reports("failed", 101)),
            program("second", &reports("ok", 0)),
            program("third", &reports("failed", 101)),
        ];
        assert_eq!(failure(programs), "first: t; third: t");
    }

    #[test]
    fn a_program_that_dies_fails_although_its_tests_passed() {
        let programs = vec![program("first", &reports("ok", 101))];
        let message = failure(programs);
        assert!(message.contains("ended with exit status: 101"), "{message}");
    }

    #[test]
    fn the_slowest_tests_are_named_first() {
        let durations = Durations::default();
        for seconds in 1..=30 {
            durations.record(format!("test {seconds}"), Duration::from_secs(seconds));
        }
        let text = durations.to_string();
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines.len(), SLOWEST);
        assert_eq!(lines[0].trim(), "30.0 s  test 30");
        assert_eq!(Durations::default().to_string(), "");
    }
}
