//! The runs as tables.

use super::{
    sides::{Run, Who},
    stage::Stage,
    workload::Workload,
};
use crate::{
    report::{Detail, Goal, Measure, Unit},
    statistics::Summary,
    table::Table,
};

/// The goals hold for this number of connections.
const GOAL_CONNECTIONS: u16 = 16;
const OF_PGBENCH: f64 = 0.85;
const OF_SUPABASE_LITE: f64 = 8.0;
const OF_POSTGREST: f64 = 4.0;
const MOST_MEMORY: f64 = 80.0;

/// Ours beside the others.
pub(crate) fn measures(stages: &[Stage]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = stages.iter().flat_map(of_stage).collect();
    measures.extend([Who::Alone, Who::Full].map(|who| memory(stages, who)));
    measures
}

fn of_stage(stage: &Stage) -> Vec<Measure> {
    let has_goal = stage.workload == Workload::OneRow && stage.connections == GOAL_CONNECTIONS;
    let goal = |least| match has_goal {
        true => Goal::RatioAtLeast(least),
        false => Goal::None,
    };
    let compare = |who: Who, (peer, theirs): (&str, Vec<f64>), least| {
        Measure::new(
            format!("{}: {}", who.name(), stage.title()),
            Unit::RequestsPerSecond,
            stage.of(who).map(rates).unwrap_or_default(),
            (peer, theirs),
            goal(least),
        )
    };
    let mut measures = Vec::new();
    if !stage.pgbench.is_empty() {
        let pgbench: Vec<f64> = stage.pgbench.iter().map(|s| s.per_second).collect();
        for who in [Who::Alone, Who::Full] {
            measures.push(compare(who, ("pgbench", pgbench.clone()), OF_PGBENCH));
        }
    }
    let peers = [
        (Who::SupabaseLite, OF_SUPABASE_LITE),
        (Who::Postgrest, OF_POSTGREST),
    ];
    for (peer, least) in peers {
        if let Some(runs) = stage.of(peer) {
            measures.push(compare(Who::Alone, (peer.name(), rates(runs)), least));
        }
    }
    measures
}

fn memory(stages: &[Stage], who: Who) -> Measure {
    let all = || stages.iter().filter_map(|stage| stage.of(who)).flatten();
    let most = all().map(|run| run.rss_most).fold(f64::NAN, f64::max);
    let before = all().next().map_or(f64::NAN, |run| run.rss_before);
    Measure::new(
        format!("{}: RSS, at most", who.name()),
        Unit::Mebibytes,
        vec![most],
        ("before the load", vec![before]),
        Goal::AtMost(MOST_MEMORY),
    )
}

/// Everything that was measured.
pub(crate) fn details(stages: &[Stage]) -> Vec<Detail> {
    let mut details: Vec<Detail> = stages
        .iter()
        .map(|stage| Detail {
            title: stage.title(),
            table: table(stage),
        })
        .collect();
    let large = stages
        .iter()
        .find(|stage| stage.workload == Workload::TenMegabytes);
    details.extend(large.map(growth));
    details
}

fn table(stage: &Stage) -> Table {
    let header = [
        "",
        "requests/s",
        "p50 ms",
        "p99 ms",
        "processor time per request, µs",
        "PostgreSQL's",
        "load generator's",
        "RSS, at most",
    ];
    let ours = |(who, runs): &(Who, Vec<Run>)| {
        vec![
            who.name().to_owned(),
            decimals(median(runs, |run| run.load.per_second)),
            format!("{:.2}", median(runs, |run| run.load.p50_ms)),
            format!("{:.2}", median(runs, |run| run.load.p99_ms)),
            decimals(median(runs, |run| run.cpu_us)),
            decimals(median(runs, |run| run.postgres_us)),
            decimals(median(runs, |run| run.generator_us)),
            format!("{:.1} MB", most(runs)),
        ]
    };
    let mut rows: Vec<Vec<String>> = stage.runs.iter().map(ours).collect();
    if !stage.pgbench.is_empty() {
        let of = |pick: fn(&crate::pgbench::Sample) -> f64| {
            Summary::of(stage.pgbench.iter().map(pick).collect()).median
        };
        let mean = format!("{:.2} (mean)", of(|sample| sample.mean_ms));
        let rate = decimals(of(|sample| sample.per_second));
        let mut row = vec!["pgbench".to_owned(), rate, mean];
        row.resize(header.len(), "–".to_owned());
        rows.push(row);
    }
    Table::new(&header, rows)
}

/// What a large result costs in memory, beyond the bodies that are on their way.
fn growth(stage: &Stage) -> Detail {
    let header = [
        "",
        "RSS before",
        "RSS at most",
        "growth per request at once",
    ];
    let rows = stage.runs.iter().map(|(who, runs)| {
        let before = runs.first().map_or(f64::NAN, |run| run.rss_before);
        let growth = most(runs) - before;
        vec![
            who.name().to_owned(),
            format!("{before:.1} MB"),
            format!("{:.1} MB", most(runs)),
            format!("{:.1} MB", growth / f64::from(stage.connections)),
        ]
    });
    Detail {
        title: format!("Memory: {}", stage.title()),
        table: Table::new(&header, rows.collect()),
    }
}

fn rates(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.load.per_second).collect()
}

fn median(runs: &[Run], pick: impl Fn(&Run) -> f64) -> f64 {
    Summary::of(runs.iter().map(pick).collect()).median
}

fn most(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.rss_most).fold(f64::NAN, f64::max)
}

fn decimals(value: f64) -> String {
    match value < 100.0 {
        true => format!("{value:.1}"),
        false => format!("{value:.0}"),
    }
}
