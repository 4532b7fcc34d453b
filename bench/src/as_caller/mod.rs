//! The as-caller path without HTTP beside `pgbench -M prepared` with the same four statements.
//!
//! Both do the same work on the same server, as the same login role, over the same unix socket,
//! with the same number of connections. `pgbench` waits for each statement's result, we send all
//! four at once. A third side shows how far one can get: a client that does nothing but write
//! the prepared bytes and read the response.

mod database;
mod ours;
mod wire;

use std::time::Duration;

use anyhow::ensure;

use self::{database::Prepared, ours::Sample, wire::Syncs};
use crate::{
    cpu::CpuTime,
    machine::Machine,
    pgbench::{self, Pgbench},
    report::{Detail, Goal, Measure, Report, Unit},
    statistics::Summary,
    table::Table,
};

/// Command line of `plinth-bench as-caller`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Numbers of connections to try, one after the other.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 16], value_parser = clap::value_parser!(u16).range(1..=90))]
    connections: Vec<u16>,
    /// How often each side runs per number of connections.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// How long each run lasts.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=120))]
    seconds: u16,
    /// Worker threads of our runtime, and threads of pgbench.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
}

/// All runs with one number of connections.
#[derive(Default)]
struct Rounds {
    ours: Vec<Sample>,
    pgbench: Vec<pgbench::Sample>,
    /// Processor time of pgbench per transaction, in µs.
    pgbench_cpu_us: Vec<f64>,
    one_sync: Vec<wire::Sample>,
    sync_each: Vec<wire::Sample>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    eprintln!("preparing a server with {} rows ...", database::ROWS);
    let prepared = Prepared::start()?;
    let pgbench = Pgbench::find()?.with_script(database::script(), prepared.login())?;
    pgbench.check()?;

    let mut all = Vec::new();
    for &connections in &options.connections {
        all.push((
            connections,
            measure(options, &prepared, &pgbench, connections)?,
        ));
    }

    let mut report = Report::new(
        "as-caller",
        "The as-caller path beside pgbench -M prepared",
        machine,
    );
    report.setting = vec![
        format!("PostgreSQL {}, {}", prepared.version(), pgbench.version()),
        format!(
            "{} rounds of {} s per side, alternating; {} worker threads, pgbench -j {}",
            options.rounds, options.seconds, options.threads, options.threads
        ),
        format!(
            "one row of {} by its primary key, row-level security on",
            database::ROWS
        ),
    ];
    report.measures = all
        .iter()
        .map(|(connections, rounds)| compare(*connections, rounds))
        .collect();
    report.details = details(&all);
    prepared.stop();
    Ok(report)
}

fn measure(
    options: &Options,
    prepared: &Prepared,
    pgbench: &Pgbench,
    connections: u16,
) -> anyhow::Result<Rounds> {
    let duration = Duration::from_secs(options.seconds.into());
    let mut rounds = Rounds::default();
    for round in 1..=options.rounds {
        let ours = ours::run(prepared, options.threads, connections, duration)?;
        let before = CpuTime::now()?;
        let theirs = pgbench.run(options.threads, connections, options.seconds)?;
        let pgbench_cpu = CpuTime::now()?.children - before.children;
        let one_sync = wire::run(prepared, Syncs::AtTheEnd, connections, duration)?;
        let sync_each = wire::run(prepared, Syncs::AfterEach, connections, duration)?;
        ensure!(
            theirs.failed == 0,
            "pgbench reports {} failed transactions",
            theirs.failed
        );
        eprintln!(
            "{connections:>2} connections, round {round}: plinth {:.0}/s, pgbench {:.0}/s, \
             limit {:.0}/s (four Syncs {:.0}/s)",
            ours.per_second, theirs.per_second, one_sync.per_second, sync_each.per_second
        );
        rounds.ours.push(ours);
        rounds
            .pgbench_cpu_us
            .push(pgbench_cpu * 1e6 / theirs.transactions as f64);
        rounds.pgbench.push(theirs);
        rounds.one_sync.push(one_sync);
        rounds.sync_each.push(sync_each);
    }
    Ok(rounds)
}

fn compare(connections: u16, rounds: &Rounds) -> Measure {
    let plural = if connections == 1 { "" } else { "s" };
    Measure::new(
        format!("{connections} connection{plural}"),
        Unit::TransactionsPerSecond,
        rounds.ours.iter().map(|sample| sample.per_second).collect(),
        (
            "pgbench",
            rounds
                .pgbench
                .iter()
                .map(|sample| sample.per_second)
                .collect(),
        ),
        Goal::RatioAtLeast(1.0),
    )
}

fn details(all: &[(u16, Rounds)]) -> Vec<Detail> {
    let rows = |row: fn(&Rounds) -> Vec<String>| {
        let with_count = |(connections, rounds): &(u16, Rounds)| {
            std::iter::once(connections.to_string())
                .chain(row(rounds))
                .collect()
        };
        all.iter().map(with_count).collect()
    };
    let detail = |title: &str, header: &[&str], rows| Detail {
        title: title.to_owned(),
        table: Table::new(header, rows),
    };
    vec![
        detail(
            "Time per transaction in ms, medians of the rounds",
            &[
                "connections",
                "Plinth p50",
                "Plinth p99",
                "Plinth mean",
                "pgbench mean",
            ],
            rows(latencies),
        ),
        detail(
            "How far one flush can get: bytes made beforehand, a blocking thread per connection",
            &[
                "connections",
                "one Sync",
                "four Syncs, as the driver",
                "Plinth / one",
                "Plinth / four",
            ],
            rows(limits),
        ),
        detail(
            "Processor time of the client per transaction in µs, medians of the rounds",
            &["connections", "Plinth", "pgbench", "one Sync", "four Syncs"],
            rows(processor_times),
        ),
    ]
}

fn latencies(rounds: &Rounds) -> Vec<String> {
    vec![
        format!("{:.3}", median(&rounds.ours, |sample| sample.p50_ms)),
        format!("{:.3}", median(&rounds.ours, |sample| sample.p99_ms)),
        format!("{:.3}", median(&rounds.ours, |sample| sample.mean_ms)),
        format!("{:.3}", median(&rounds.pgbench, |sample| sample.mean_ms)),
    ]
}

fn limits(rounds: &Rounds) -> Vec<String> {
    let ours = Summary::of(rounds.ours.iter().map(|sample| sample.per_second).collect());
    let per_second = |samples: &[wire::Sample]| {
        Summary::of(samples.iter().map(|sample| sample.per_second).collect())
    };
    let (one_sync, sync_each) = (per_second(&rounds.one_sync), per_second(&rounds.sync_each));
    vec![
        format!("{:.0} /s", one_sync.median),
        format!("{:.0} /s", sync_each.median),
        format!("{:.2}", ours.ratios(&one_sync).median),
        format!("{:.2}", ours.ratios(&sync_each).median),
    ]
}

fn processor_times(rounds: &Rounds) -> Vec<String> {
    let times = [
        median(&rounds.ours, |sample| sample.cpu_us),
        median(&rounds.pgbench_cpu_us, |time| *time),
        median(&rounds.one_sync, |sample| sample.cpu_us),
        median(&rounds.sync_each, |sample| sample.cpu_us),
    ];
    times.iter().map(|time| format!("{time:.1}")).collect()
}

fn median<T>(samples: &[T], pick: impl Fn(&T) -> f64) -> f64 {
    Summary::of(samples.iter().map(pick).collect()).median
}
