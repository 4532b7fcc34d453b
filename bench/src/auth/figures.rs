//! The runs as tables.

use super::{
    scripted_client::Operation,
    sides::{ALONE, FULL, GOTRUE},
    stage::Stage,
};
use crate::{
    report::{Detail, Goal, Measure, Unit},
    run::{self, most, rates},
};

const OF_PGBENCH: f64 = 0.4;
const OF_BCRYPT: f64 = 0.9;
const OF_GOTRUE: f64 = 3.0;

/// Ours beside the others.
pub(crate) fn measures(stages: &[Stage]) -> Vec<Measure> {
    stages.iter().flat_map(of_stage).collect()
}

fn of_stage(stage: &Stage) -> Vec<Measure> {
    let compare = |name: &str, (peer, theirs): (&str, Vec<f64>), goal| {
        Measure::new(
            format!("{name}: {}", stage.title()),
            Unit::RequestsPerSecond,
            stage.of(name).map(rates).unwrap_or_default(),
            (peer, theirs),
            goal,
        )
    };
    let ours = [ALONE, FULL]
        .into_iter()
        .filter(|name| stage.of(name).is_some());
    let mut measures = Vec::new();
    if !stage.pgbench.is_empty() {
        let least = match stage.operation {
            Operation::Refresh => 2500.0,
            _ => 5000.0,
        };
        let ratio = OF_PGBENCH;
        let rates: Vec<f64> = stage
            .pgbench
            .iter()
            .map(|run| run.sample.per_second)
            .collect();
        measures.extend(ours.clone().map(|name| {
            let goal = Goal::AtLeastOrRatio { least, ratio };
            compare(name, ("pgbench", rates.clone()), goal)
        }));
    }
    if !stage.bcrypt.is_empty() {
        measures.extend(ours.map(|name| {
            let bare = ("bare bcrypt", stage.bcrypt.clone());
            compare(name, bare, Goal::RatioAtLeast(OF_BCRYPT))
        }));
    }
    if let Some(runs) = stage.of(GOTRUE) {
        let goal = match stage.operation {
            Operation::Refresh | Operation::GetUser => Goal::RatioAtLeast(OF_GOTRUE),
            _ => Goal::None,
        };
        measures.push(compare(ALONE, (GOTRUE, rates(runs)), goal));
    }
    measures
}

/// What each of ours holds at most under load.
pub(crate) fn memory(stages: &[Stage]) -> Vec<Measure> {
    let of = |name: &str| {
        let all = || stages.iter().filter_map(|stage| stage.of(name));
        let most = all().map(most).fold(f64::NAN, f64::max);
        let before = all()
            .flatten()
            .next()
            .map_or(f64::NAN, |run| run.rss_before);
        Measure::new(
            format!("{name}: RSS, at most"),
            Unit::Mebibytes,
            vec![most],
            ("before the load", vec![before]),
            Goal::None,
        )
    };
    [ALONE, FULL].map(of).into()
}

/// Everything that was measured.
pub(crate) fn details(stages: &[Stage]) -> Vec<Detail> {
    let detail = |stage: &Stage| {
        let rows: Vec<_> = stage
            .runs
            .iter()
            .map(|(name, runs)| (*name, runs.as_slice()))
            .collect();
        Detail {
            title: stage.title(),
            table: run::table(&rows, &[("pgbench", &stage.pgbench)]),
        }
    };
    stages.iter().map(detail).collect()
}
