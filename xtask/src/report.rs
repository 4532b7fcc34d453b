//! What became of each step, and the summary that a run ends on.

use std::{fmt, process::ExitCode, time::Duration};

use anyhow::Result;

use crate::steps::Outcome;

/// How a step ended.
pub(crate) enum Verdict {
    /// With a word on how.
    Passed(&'static str),
    Skipped(String),
    Failed(String),
}

impl From<Result<Outcome>> for Verdict {
    fn from(result: Result<Outcome>) -> Self {
        match result {
            Ok(Outcome::Done) => Self::Passed("done"),
            Ok(Outcome::AlreadyDone) => Self::Passed("already done"),
            Ok(Outcome::Skipped(why)) => Self::Skipped(why),
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed(how) => f.write_str(how),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
            Self::Failed(why) => write!(f, "FAILED: {why}"),
        }
    }
}

impl Verdict {
    /// Of a step behind one that failed.
    pub(crate) fn not_run(need: &str) -> Self {
        Self::Failed(format!("not run, because {need:?} failed"))
    }

    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

struct Line {
    /// Place in the plan, which is the order of the summary.
    index: usize,
    name: String,
    verdict: Verdict,
    duration: Duration,
}

/// What became of each step.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
}

impl Report {
    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.is_success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        self.count(Verdict::is_failure) == 0
    }

    pub(crate) fn record(
        &mut self,
        index: usize,
        name: String,
        verdict: Verdict,
        duration: Duration,
    ) {
        let position = self.lines.partition_point(|line| line.index < index);
        let line = Line {
            index,
            name,
            verdict,
            duration,
        };
        self.lines.insert(position, line);
    }

    pub(crate) fn has_failed(&self, name: &str) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|line| line.name == name && line.verdict.is_failure())
    }

    fn count(&self, is_counted: impl Fn(&Verdict) -> bool) -> usize {
        self.lines
            .iter()
            .filter(|line| is_counted(&line.verdict))
            .count()
    }
}

/// The table of all steps, closed by the line `N passed, N failed`. Skipped steps count as neither.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.lines.iter().map(|line| line.name.len());
        let width = lengths.max().unwrap_or_default();
        for line in &self.lines {
            let (word, why) = match &line.verdict {
                Verdict::Passed(_) => ("passed", ""),
                Verdict::Skipped(why) => ("skipped", why.as_str()),
                // Only the first line: the whole was printed where the step ran.
                Verdict::Failed(why) => ("FAILED", why.lines().next().unwrap_or_default()),
            };
            let (name, seconds) = (&line.name, Seconds(line.duration).to_string());
            let text = format!("{word:<7}  {name:<width$}  {seconds:>9}  {why}");
            writeln!(f, "{}", text.trim_end())?;
        }
        let passed = self.count(|verdict| matches!(verdict, Verdict::Passed(_)));
        let failed = self.count(Verdict::is_failure);
        writeln!(f, "{passed} passed, {failed} failed")
    }
}

/// A duration as people read it.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.as_secs_f64())
    }
}
