//! What a benchmark hands back, and its three forms: a table for the terminal, Markdown and JSON
//! for `bench/results/`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{machine::Machine, plot::Plot, statistics::Summary, table::Table};

/// One benchmark's results.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// File name of the results.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// When everything was measured, in UTC.
    pub(crate) taken_at: String,
    pub(crate) machine: Machine,
    /// The server's version and what else describes the run.
    pub(crate) setting: Vec<String>,
    pub(crate) measures: Vec<Measure>,
    /// Numbers without a goal that explain those with one.
    pub(crate) details: Vec<Detail>,
    /// A picture beside the page.
    #[serde(skip)]
    pub(crate) plot: Option<Plot>,
}

/// One number of ours beside the peer's.
#[derive(Debug, Serialize)]
pub(crate) struct Measure {
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) ours: Summary,
    pub(crate) peer_name: String,
    pub(crate) peer: Summary,
    /// Ours divided by the peer's, run by run.
    pub(crate) ratio: Summary,
    pub(crate) goal: Goal,
    pub(crate) passed: bool,
}

impl Measure {
    pub(crate) fn new(
        what: impl Into<String>,
        unit: Unit,
        ours: Vec<f64>,
        (peer_name, peer): (&str, Vec<f64>),
        goal: Goal,
    ) -> Self {
        let (ours, peer) = (Summary::of(ours), Summary::of(peer));
        let ratio = ours.ratios(&peer);
        let passed = goal.is_met(&ours, &ratio);
        let (what, peer_name) = (what.into(), peer_name.to_owned());
        Self {
            what,
            unit,
            ours,
            peer_name,
            peer,
            ratio,
            goal,
            passed,
        }
    }
}

impl Measure {
    fn outcome(&self) -> &'static str {
        match (self.goal, self.passed) {
            (Goal::None, _) => "–",
            (_, true) => "yes",
            (_, false) => "**no**",
        }
    }
}

/// What a number counts.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    Mebibytes,
    MebibytesPerSecond,
    TransactionsPerSecond,
    RequestsPerSecond,
    Messages,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::Seconds => format!("{value:.2} s"),
            Unit::Milliseconds => format!("{value:.2} ms"),
            Unit::Mebibytes => format!("{value:.1} MB"),
            Unit::MebibytesPerSecond => format!("{value:.0} MB/s"),
            Unit::RequestsPerSecond if value < 100.0 => format!("{value:.1} /s"),
            Unit::TransactionsPerSecond | Unit::RequestsPerSecond => format!("{value:.0} /s"),
            Unit::Messages => format!("{value:.0}"),
        }
    }

    fn show_summary(self, summary: &Summary) -> String {
        let bare = |value| {
            self.show(value)
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let (least, most) = (bare(summary.min), bare(summary.max));
        format!("{} ({least}–{most})", self.show(summary.median))
    }
}

/// What the number should be. Medians decide.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    /// Our number, in its unit.
    AtMost(f64),
    /// The same, from below.
    AtLeast(f64),
    /// Our number divided by the peer's.
    RatioAtLeast(f64),
    /// The same, the other way round.
    RatioAtMost(f64),
    /// Our number or the ratio: on a slow machine the peer shows what can be expected.
    AtLeastOrRatio { least: f64, ratio: f64 },
    /// Only to be looked at.
    None,
}

impl Goal {
    fn is_met(self, ours: &Summary, ratio: &Summary) -> bool {
        match self {
            Goal::AtMost(most) => ours.median <= most,
            Goal::AtLeast(least) => ours.median >= least,
            Goal::RatioAtLeast(least) => ratio.median >= least,
            Goal::RatioAtMost(most) => ratio.median <= most,
            Goal::AtLeastOrRatio {
                least,
                ratio: share,
            } => ours.median >= least || ratio.median >= share,
            Goal::None => true,
        }
    }

    fn show(self, unit: Unit) -> String {
        match self {
            Goal::AtMost(most) => format!("≤ {}", unit.show(most)),
            Goal::AtLeast(least) => format!("≥ {}", unit.show(least)),
            Goal::RatioAtLeast(least) if least > 1.0 => format!("≥ {least:.0} × the peer"),
            Goal::RatioAtLeast(least) => format!("≥ {:.0} % of the peer", least * 100.0),
            Goal::RatioAtMost(most) => format!("≤ {most:.1} × the peer"),
            Goal::AtLeastOrRatio { least, ratio } => {
                format!(
                    "≥ {} or ≥ {:.0} % of the peer",
                    unit.show(least),
                    ratio * 100.0
                )
            }
            Goal::None => "–".to_owned(),
        }
    }
}

/// A further table.
#[derive(Debug, Serialize)]
pub(crate) struct Detail {
    pub(crate) title: String,
    pub(crate) table: Table,
}

impl Report {
    pub(crate) fn new(name: &'static str, title: &'static str, machine: Machine) -> Self {
        let now = OffsetDateTime::now_utc();
        let now = now.replace_nanosecond(0).unwrap_or(now);
        let taken_at = now.format(&Rfc3339).unwrap_or_default();
        let (setting, measures, details) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            name,
            title,
            taken_at,
            machine,
            setting,
            measures,
            details,
            plot: None,
        }
    }

    /// Whether every goal was reached.
    pub(crate) fn has_passed(&self) -> bool {
        self.measures.iter().all(|measure| measure.passed)
    }

    /// The main table.
    fn table(&self) -> Table {
        let header = [
            "",
            "Plinth: median (range)",
            "beside it",
            "median (range)",
            "ratio",
            "goal",
            "met",
        ];
        let rows = self.measures.iter().map(|measure| {
            let Summary {
                median, min, max, ..
            } = &measure.ratio;
            vec![
                measure.what.clone(),
                measure.unit.show_summary(&measure.ours),
                measure.peer_name.clone(),
                measure.unit.show_summary(&measure.peer),
                format!("{median:.2} ({min:.2}–{max:.2})"),
                measure.goal.show(measure.unit),
                measure.outcome().to_owned(),
            ]
        });
        Table::new(&header, rows.collect())
    }

    /// For the terminal.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{}\n\n{}", self.title, self.table().to_text());
        for detail in &self.details {
            _ = write!(text, "\n{}\n\n{}", detail.title, detail.table.to_text());
        }
        text
    }

    /// For the results folder.
    pub(crate) fn to_markdown(&self) -> String {
        let Machine {
            cpu,
            cores,
            memory_gib,
            kernel,
            load_before,
        } = &self.machine;
        let mut text = format!("# {}\n\n", self.title);
        _ = writeln!(text, "- Taken at {}", self.taken_at);
        _ = writeln!(
            text,
            "- {cpu}, {cores} cores, {memory_gib:.0} GB RAM, {kernel}"
        );
        _ = writeln!(text, "- Load average when it began: {load_before}");
        for line in &self.setting {
            _ = writeln!(text, "- {line}");
        }
        _ = write!(text, "\n{}", self.table().to_markdown());
        if let Some(plot) = &self.plot {
            _ = writeln!(text, "\n![{}]({}.svg)", plot.title, self.name);
        }
        for detail in &self.details {
            _ = write!(
                text,
                "\n## {}\n\n{}",
                detail.title,
                detail.table.to_markdown()
            );
        }
        text
    }

    /// Writes `<name>.md`, `<name>.json` and perhaps `<name>.svg`, each in one step.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let markdown = folder.join(self.name).with_extension("md");
        write_file(&markdown, &self.to_markdown())?;
        let json = serde_json::to_string_pretty(self)?;
        write_file(&markdown.with_extension("json"), &format!("{json}\n"))?;
        if let Some(plot) = &self.plot {
            write_file(&markdown.with_extension("svg"), &plot.to_svg())?;
        }
        Ok(markdown)
    }
}

/// The first line of what went wrong; all of it goes to the terminal.
pub(crate) fn sentence(what: &str, error: &anyhow::Error) -> String {
    let error = format!("{error:#}");
    eprintln!("{what}: {error}");
    format!("{what}: {}", error.lines().next().unwrap_or_default())
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let temporary = path.with_extension("tmp");
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(ours: f64, peer: f64, goal: Goal) -> Measure {
        Measure::new("it", Unit::Seconds, vec![ours], ("bare", vec![peer]), goal)
    }

    #[test]
    fn a_limit_is_met_up_to_and_including_itself() {
        assert!(measure(6.0, 1.0, Goal::AtMost(6.0)).passed);
        assert!(!measure(6.1, 1.0, Goal::AtMost(6.0)).passed);
        assert!(measure(6.0, 1.0, Goal::AtLeast(6.0)).passed);
        assert!(!measure(5.9, 1.0, Goal::AtLeast(6.0)).passed);
    }

    #[test]
    fn a_ratio_goal_looks_at_the_peer() {
        assert!(measure(110.0, 100.0, Goal::RatioAtLeast(1.0)).passed);
        assert!(!measure(90.0, 100.0, Goal::RatioAtLeast(1.0)).passed);
    }

    #[test]
    fn either_the_number_or_the_ratio_is_enough() {
        let goal = Goal::AtLeastOrRatio {
            least: 100.0,
            ratio: 0.4,
        };
        assert!(measure(100.0, 1000.0, goal).passed);
        assert!(measure(50.0, 100.0, goal).passed);
        assert!(!measure(50.0, 1000.0, goal).passed);
    }

    #[test]
    fn a_change_may_go_up_to_its_limit() {
        assert!(measure(120.0, 100.0, Goal::RatioAtMost(1.2)).passed);
        assert!(!measure(121.0, 100.0, Goal::RatioAtMost(1.2)).passed);
    }

    #[test]
    fn a_number_without_a_goal_is_neither_met_nor_missed() {
        let shown = measure(1.0, 2.0, Goal::None);
        assert!(shown.passed);
        assert_eq!(shown.outcome(), "–");
        assert_eq!(measure(7.0, 1.0, Goal::AtMost(6.0)).outcome(), "**no**");
    }

    #[test]
    fn a_measure_without_runs_does_not_pass() {
        let nothing = || ("bare", Vec::new());
        let goal = Goal::AtMost(6.0);
        assert!(!Measure::new("it", Unit::Seconds, Vec::new(), nothing(), goal).passed);
    }

    #[test]
    fn both_files_are_written_and_the_page_names_goal_and_outcome() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = Report::new("start", "Starting", Machine::detect());
        report.measures.push(measure(1.5, 1.0, Goal::AtMost(6.0)));

        let page = report.write(folder.path()).unwrap();

        let page = fs::read_to_string(page).unwrap();
        let row = "| it | 1.50 s (1.50–1.50) | bare | 1.00 s (1.00–1.00) \
                   | 1.50 (1.50–1.50) | ≤ 6.00 s | yes |";
        assert!(page.contains(row), "{page}");
        assert!(folder.path().join("start.json").is_file());
    }
}
