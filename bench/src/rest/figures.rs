//! The runs as tables.

use super::{sides::ServerKind, stage::Stage, workload::Workload};
use crate::{
    report::{Detail, Goal, Measure, Unit},
    run::{self, most, rates},
    table::Table,
};

/// The goals hold for this number of connections.
const GOAL_CONNECTIONS: u16 = 16;
const OF_PGBENCH: f64 = 0.85;
const OF_SUPABASE_LITE: f64 = 8.0;
const OF_POSTGREST: f64 = 4.0;
const MAX_MEMORY_MIB: f64 = 80.0;

/// Ours beside the others.
pub(crate) fn measures(stages: &[Stage]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = stages.iter().flat_map(of_stage).collect();
    measures.extend([ServerKind::Alone, ServerKind::Full].map(|who| memory(stages, who)));
    measures
}

fn of_stage(stage: &Stage) -> Vec<Measure> {
    let has_goal = stage.workload == Workload::OneRow && stage.connections == GOAL_CONNECTIONS;
    let goal = |least| {
        if has_goal {
            Goal::RatioAtLeast(least)
        } else {
            Goal::None
        }
    };
    let compare = |who: ServerKind, (peer, theirs): (&str, Vec<f64>), least| {
        Measure::new(
            format!("{}: {}", who.name(), stage.title()),
            Unit::RequestsPerSecond,
            stage.of(who).map(rates).unwrap_or_default(),
            (peer, theirs),
            goal(least),
        )
    };
    let mut measures = Vec::new();
    for who in [ServerKind::Alone, ServerKind::Full] {
        if let Some(runs) = stage.pgbench_of(who) {
            let pgbench = runs.iter().map(|run| run.sample.per_second).collect();
            measures.push(compare(who, ("pgbench", pgbench), OF_PGBENCH));
        }
    }
    let peers = [
        (ServerKind::SupabaseLite, OF_SUPABASE_LITE),
        (ServerKind::Postgrest, OF_POSTGREST),
    ];
    for (peer, least) in peers {
        if let Some(runs) = stage.of(peer) {
            measures.push(compare(
                ServerKind::Alone,
                (peer.name(), rates(runs)),
                least,
            ));
        }
    }
    measures
}

fn memory(stages: &[Stage], who: ServerKind) -> Measure {
    let all = || stages.iter().filter_map(|stage| stage.of(who)).flatten();
    let most = all().map(|run| run.rss_most).fold(f64::NAN, f64::max);
    let before = all().next().map_or(f64::NAN, |run| run.rss_before);
    Measure::new(
        format!("{}: RSS, at most", who.name()),
        Unit::Mebibytes,
        vec![most],
        ("before the load", vec![before]),
        Goal::AtMost(MAX_MEMORY_MIB),
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
    let rows = stage.runs.iter();
    let rows: Vec<_> = rows
        .map(|(who, runs)| (who.name(), runs.as_slice()))
        .collect();
    let names: Vec<_> = stage
        .pgbench
        .iter()
        .map(|(who, _)| format!("pgbench, {}", who.statements()))
        .collect();
    let pgbench: Vec<_> = names
        .iter()
        .zip(&stage.pgbench)
        .map(|(name, (_, runs))| (name.as_str(), runs.as_slice()))
        .collect();
    run::table(&rows, &pgbench)
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
