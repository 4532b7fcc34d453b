//! Several steps at a time.
//!
//! Each step runs on a thread of its own, and what its programs print goes to a log file that is
//! shown if the step fails. Steps start in the order of the plan as soon as what they need is done.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, Scope},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};

use super::{Action, Outcome, Plan, Step};
use crate::{
    commands,
    report::{Report, Seconds, Verdict},
};

/// How often the running steps are named.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(60);

impl Plan<'_> {
    /// Runs every step whose needs were met, at most `slots` at a time, with logs in `logs`.
    pub(crate) fn run_parallel(self, slots: usize, logs: &Path) -> Result<Report> {
        fs::create_dir_all(logs).with_context(|| format!("no folder {}", logs.display()))?;
        let total = self.steps.len();
        let (sender, finished) = mpsc::channel();
        thread::scope(|scope| {
            let mut schedule = Schedule {
                waiting: self.steps.into_iter().enumerate().collect(),
                running: BTreeMap::new(),
                report: Report::default(),
                total,
                logs,
            };
            loop {
                schedule.start_ready(slots, scope, &sender)?;
                if schedule.running.is_empty() {
                    schedule.fail_waiting();
                    return Ok(schedule.report);
                }
                match finished.recv_timeout(PROGRESS_INTERVAL) {
                    Ok((index, verdict)) => schedule.finish(index, verdict),
                    Err(RecvTimeoutError::Timeout) => schedule.print_running(),
                    Err(RecvTimeoutError::Disconnected) => unreachable!("a sender is held above"),
                }
            }
        })
    }
}

struct Schedule<'plan> {
    waiting: Vec<(usize, Step<'plan>)>,
    running: BTreeMap<usize, Running>,
    report: Report,
    total: usize,
    logs: &'plan Path,
}

struct Running {
    name: String,
    log: PathBuf,
    started: Instant,
}

impl<'plan> Schedule<'plan> {
    fn start_ready<'scope, 'env>(
        &mut self,
        slots: usize,
        scope: &'scope Scope<'scope, 'env>,
        finished: &Sender<(usize, Verdict)>,
    ) -> Result<()>
    where
        'plan: 'scope,
    {
        while self.running.len() < slots {
            let Some(position) = self.next_ready() else {
                break;
            };
            let (index, step) = self.waiting.remove(position);
            let label = self.label(index, &step.name);
            if let Some(need) = step.needs.iter().find(|need| self.report.has_failed(need)) {
                let verdict = Verdict::not_run(need);
                println!("{label}: {verdict}");
                self.report
                    .record(index, step.name, verdict, Duration::ZERO);
                continue;
            }
            println!("{label}");
            let log = self.logs.join(file_name(&step.name));
            let file = File::create(&log).with_context(|| format!("no file {}", log.display()))?;
            let finished = finished.clone();
            scope.spawn(move || {
                commands::capture(Some(file));
                // The receiver is gone only when the whole run has failed.
                let _ = finished.send((index, run_guarded(step.action)));
            });
            let running = Running {
                name: step.name,
                log,
                started: Instant::now(),
            };
            self.running.insert(index, running);
        }
        Ok(())
    }

    /// Steps that need what no step does, or each other.
    fn fail_waiting(&mut self) {
        for (index, step) in self.waiting.drain(..) {
            let needs = step.needs.join(", ");
            let verdict = Verdict::Failed(format!("not run, because it needs {needs}"));
            self.report
                .record(index, step.name, verdict, Duration::ZERO);
        }
    }

    /// The first step that needs nothing which waits or runs.
    fn next_ready(&self) -> Option<usize> {
        let unfinished: BTreeSet<&str> = self
            .waiting
            .iter()
            .map(|(_, step)| step.name.as_str())
            .chain(self.running.values().map(|running| running.name.as_str()))
            .collect();
        let is_ready = |step: &Step<'_>| {
            let mut needs = step.needs.iter();
            !needs.any(|need| unfinished.contains(need.as_str()))
        };
        self.waiting.iter().position(|(_, step)| is_ready(step))
    }

    fn finish(&mut self, index: usize, verdict: Verdict) {
        let Some(running) = self.running.remove(&index) else {
            return;
        };
        let duration = running.started.elapsed();
        if verdict.is_failure() {
            print_log(&running.log);
        }
        let label = self.label(index, &running.name);
        println!("{label}: {verdict} ({})", Seconds(duration));
        self.report.record(index, running.name, verdict, duration);
    }

    fn print_running(&self) {
        for running in self.running.values() {
            let seconds = Seconds(running.started.elapsed());
            let line = last_line(&running.log).unwrap_or_default();
            println!("        {} ({seconds}): {line}", running.name);
        }
    }

    fn label(&self, index: usize, name: &str) -> String {
        format!("[{}/{}] {name}", index + 1, self.total)
    }
}

/// A panic of a step fails that step and no other.
fn run_guarded(action: Action<'_>) -> Verdict {
    let outcome: Result<Outcome> = panic::catch_unwind(AssertUnwindSafe(action))
        .unwrap_or_else(|_| Err(anyhow!("panicked; the message is above")));
    outcome.into()
}

fn print_log(log: &Path) {
    let copied = File::open(log).and_then(|mut file| io::copy(&mut file, &mut io::stdout().lock()));
    if let Err(error) = copied {
        println!("{} cannot be shown: {error}", log.display());
    }
}

/// The beginning of the last line that a step has printed: how far it is.
fn last_line(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let text = String::from_utf8_lossy(&end);
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    Ok(line.unwrap_or_default().trim().chars().take(100).collect())
}

fn file_name(step: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}.log", step.chars().map(safe).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn run(steps: Vec<Step<'_>>) -> Report {
        let logs = tempfile::tempdir().expect("a folder");
        let plan = Plan { steps };
        plan.run_parallel(2, logs.path()).expect("a log folder")
    }

    fn passing(name: &str) -> Step<'static> {
        Step::new(name, || Ok(Outcome::Done))
    }

    #[test]
    fn two_steps_run_at_the_same_time() {
        // Neither would return without the other.
        let barrier = Barrier::new(2);
        let wait = |name| {
            Step::new(name, || {
                barrier.wait();
                Ok(Outcome::Done)
            })
        };
        assert!(run(vec![wait("a"), wait("b")]).is_success());
    }

    #[test]
    fn a_step_waits_for_what_it_needs() {
        let (sender, order) = mpsc::channel();
        let note = |name: &'static str| {
            let sender = sender.clone();
            Step::new(name, move || {
                sender.send(name).expect("the test listens");
                Ok(Outcome::Done)
            })
        };
        run(vec![
            note("tests").needs(["build"]),
            note("build").needs(["packages"]),
            note("packages"),
        ]);
        assert_eq!(
            order.try_iter().collect::<Vec<_>>(),
            ["packages", "build", "tests"]
        );
    }

    #[test]
    fn a_panic_fails_its_step_and_what_needs_it() {
        let report = run(vec![
            Step::new("a", || panic!("on purpose")),
            passing("b").needs(["a"]),
            passing("c"),
        ]);
        let last = report.to_string().lines().last().map(ToOwned::to_owned);
        assert_eq!(last.as_deref(), Some("1 passed, 2 failed"));
    }

    #[test]
    fn steps_that_need_each_other_fail() {
        let report = run(vec![
            passing("a").needs(["b"]),
            passing("b").needs(["a"]),
            passing("c"),
        ]);
        let last = report.to_string().lines().last().map(ToOwned::to_owned);
        assert_eq!(last.as_deref(), Some("1 passed, 2 failed"));
    }

    #[test]
    fn progress_is_the_last_line_that_says_something() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("a.log");
        fs::write(&log, "x\n".repeat(5000) + "   Compiling plinth\n\n").expect("written");
        assert_eq!(last_line(&log).expect("readable"), "Compiling plinth");
        fs::write(&log, "").expect("written");
        assert_eq!(last_line(&log).expect("readable"), "");
    }

    #[test]
    fn logs_are_named_after_their_step() {
        assert_eq!(file_name("rust tests on S3"), "rust-tests-on-S3.log");
    }
}
