//! Named steps with progress and durations.
//!
//! A plan goes on after a failure, so that one run shows everything that is wrong; only the steps
//! that need the failed one are left out. Steps run one after the other, printing to the terminal,
//! or several at a time (`parallel.rs`), each with a log file.

mod parallel;

use std::{collections::BTreeSet, process::Command, time::Instant};

use anyhow::{Result, bail};

use crate::{
    commands,
    report::{Report, Seconds, Verdict},
};

/// How a step that did not fail ended.
pub(crate) enum Outcome {
    Done,
    /// An earlier run did it.
    AlreadyDone,
    /// It cannot be done here; the text says why.
    Skipped(String),
}

type Action<'a> = Box<dyn FnOnce() -> Result<Outcome> + Send + 'a>;

/// One named piece of work.
pub(crate) struct Step<'a> {
    name: String,
    needs: Vec<String>,
    action: Action<'a>,
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        action: impl FnOnce() -> Result<Outcome> + Send + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            needs: Vec::new(),
            action: Box::new(action),
        }
    }

    /// A step that runs one command.
    pub(crate) fn command(name: impl Into<String>, mut command: Command) -> Self {
        Self::new(name, move || {
            commands::run(&mut command)?;
            Ok(Outcome::Done)
        })
    }

    /// Names the earlier steps without which this one cannot succeed.
    pub(crate) fn needs<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.needs.extend(names.into_iter().map(Into::into));
        self
    }
}

/// Steps in the order in which they run.
#[derive(Default)]
pub(crate) struct Plan<'a> {
    steps: Vec<Step<'a>>,
}

impl<'a> Plan<'a> {
    pub(crate) fn add(&mut self, step: Step<'a>) {
        self.steps.push(step);
    }

    /// Adds steps in order and returns the name of the last.
    pub(crate) fn add_all(&mut self, steps: impl IntoIterator<Item = Step<'a>>) -> Option<String> {
        let mut last = None;
        for step in steps {
            last = Some(step.name.clone());
            self.add(step);
        }
        last
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str())
    }

    /// Keeps the steps whose name contains `filter`, and what they need.
    pub(crate) fn filter(mut self, filter: &str) -> Result<Self> {
        let filter = filter.to_lowercase();
        let mut kept: BTreeSet<String> = BTreeSet::new();
        // Backwards, because a step only ever needs earlier ones.
        for step in self.steps.iter().rev() {
            if step.name.to_lowercase().contains(&filter) || kept.contains(&step.name) {
                kept.insert(step.name.clone());
                kept.extend(step.needs.iter().cloned());
            }
        }
        if kept.is_empty() {
            let names = self.names().collect::<Vec<_>>().join(", ");
            bail!("no step has {filter:?} in its name; the steps are: {names}");
        }
        self.steps.retain(|step| kept.contains(&step.name));
        Ok(self)
    }

    /// Needs that no earlier step satisfies; a correct plan has none.
    #[cfg(test)]
    pub(crate) fn unmet_needs(&self) -> Vec<String> {
        let mut earlier = BTreeSet::new();
        let mut unmet = Vec::new();
        for step in &self.steps {
            unmet.extend(
                step.needs
                    .iter()
                    .filter(|need| !earlier.contains(need))
                    .cloned(),
            );
            earlier.insert(&step.name);
        }
        unmet
    }

    /// Runs every step whose needs were met, one after the other.
    pub(crate) fn run(self) -> Report {
        let total = self.steps.len();
        let mut report = Report::default();
        for (index, step) in self.steps.into_iter().enumerate() {
            let label = format!("[{}/{total}] {}", index + 1, step.name);
            println!("{label}");
            let started = Instant::now();
            let verdict = match step.needs.iter().find(|need| report.has_failed(need)) {
                Some(need) => Verdict::not_run(need),
                None => (step.action)().into(),
            };
            let duration = started.elapsed();
            println!("{label}: {verdict} ({})\n", Seconds(duration));
            report.record(index, step.name, verdict, duration);
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use anyhow::anyhow;

    use super::*;

    fn passing(name: &str) -> Step<'static> {
        Step::new(name, || Ok(Outcome::Done))
    }

    fn failing(name: &str) -> Step<'static> {
        Step::new(name, || Err(anyhow!("it broke\nin detail")))
    }

    fn plan<'a>(steps: impl IntoIterator<Item = Step<'a>>) -> Plan<'a> {
        Plan {
            steps: steps.into_iter().collect(),
        }
    }

    fn closing_line(report: &Report) -> String {
        report
            .to_string()
            .lines()
            .last()
            .expect("a summary")
            .to_owned()
    }

    #[test]
    fn a_failure_stops_only_the_steps_that_need_it() {
        let log = Mutex::new(Vec::new());
        let ran = &log;
        let note = |name: &'static str| {
            Step::new(name, move || {
                ran.lock().expect("no panic").push(name);
                Ok(Outcome::Done)
            })
        };
        let report = plan([
            failing("build"),
            note("tests").needs(["build"]),
            note("format"),
        ])
        .run();

        assert_eq!(*log.lock().expect("no panic"), ["format"]);
        assert!(!report.is_success());
        assert_eq!(closing_line(&report), "1 passed, 2 failed");
    }

    #[test]
    fn a_step_behind_one_that_was_not_run_is_not_run_either() {
        let steps = [
            failing("a"),
            passing("b").needs(["a"]),
            passing("c").needs(["b"]),
        ];
        assert_eq!(closing_line(&plan(steps).run()), "0 passed, 3 failed");
    }

    #[test]
    fn skipped_steps_count_as_neither() {
        let skipped = Step::new("b", || Ok(Outcome::Skipped("not here".to_owned())));
        let already = Step::new("a", || Ok(Outcome::AlreadyDone));
        let report = plan([already, skipped, passing("c").needs(["b"])]).run();

        assert!(report.is_success());
        assert_eq!(closing_line(&report), "2 passed, 0 failed");
        assert!(report.to_string().contains("not here"));
    }

    #[test]
    fn the_summary_shows_the_first_line_of_a_failure() {
        let summary = plan([failing("a")]).run().to_string();
        assert!(summary.contains("it broke"), "{summary}");
        assert!(!summary.contains("in detail"), "{summary}");
    }

    #[test]
    fn a_filter_keeps_what_the_chosen_steps_need() {
        let steps = [
            passing("packages"),
            passing("Build").needs(["packages"]),
            passing("format"),
            passing("js tests").needs(["Build"]),
            passing("rust tests").needs(["Build"]),
        ];
        let plan = plan(steps).filter("JS").expect("one step matches");
        assert_eq!(
            plan.names().collect::<Vec<_>>(),
            ["packages", "Build", "js tests"]
        );
    }

    #[test]
    fn a_filter_that_matches_nothing_names_the_steps() {
        let Err(error) = plan([passing("format")]).filter("fromat") else {
            panic!("nothing matches");
        };
        assert!(
            error.to_string().contains("the steps are: format"),
            "{error}"
        );
    }
}
