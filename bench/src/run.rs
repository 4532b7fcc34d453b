//! One run of a server under load: how fast it was, and what it and its neighbours spent.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use hdrhistogram::Histogram;

use crate::{cpu::CpuTime, memory::Watch, pgbench, processes, statistics::Summary, table::Table};

/// What the load generator saw.
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) requests: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

impl Sample {
    /// Of times in nanoseconds.
    pub(crate) fn new(times: &Histogram<u64>, elapsed: Duration) -> Self {
        let milliseconds = |quantile| times.value_at_quantile(quantile) as f64 / 1e6;
        Self {
            per_second: times.len() as f64 / elapsed.as_secs_f64(),
            requests: times.len(),
            p50_ms: milliseconds(0.50),
            p99_ms: milliseconds(0.99),
        }
    }
}

/// One run.
pub(crate) struct Run {
    pub(crate) load: Sample,
    /// Processor time of the server per request, in µs.
    pub(crate) cpu_us: f64,
    /// The same of PostgreSQL.
    pub(crate) postgres_us: f64,
    /// The same of the load generator.
    pub(crate) generator_us: f64,
    /// RSS of the server in MiB, before the run and at most during it.
    pub(crate) rss_before: f64,
    pub(crate) rss_most: f64,
}

/// One run of pgbench.
pub(crate) struct PgbenchRun {
    pub(crate) sample: pgbench::Sample,
    /// Processor time of pgbench per transaction, in µs.
    pub(crate) cpu_us: f64,
    /// The same of PostgreSQL.
    pub(crate) postgres_us: f64,
}

/// Watches pgbench and the server while it runs.
pub(crate) fn observe_pgbench(
    postgres: u32,
    run: impl FnOnce() -> anyhow::Result<pgbench::Sample>,
) -> anyhow::Result<PgbenchRun> {
    let spent = || Ok::<_, anyhow::Error>((CpuTime::now()?.children, CpuTime::of_tree(postgres)));
    let before = spent()?;
    let sample = run()?;
    let after = spent()?;
    ensure!(sample.failed == 0, "pgbench reports failed transactions");
    let per_transaction = |seconds: f64| seconds * 1e6 / sample.transactions as f64;
    Ok(PgbenchRun {
        cpu_us: per_transaction(after.0 - before.0),
        postgres_us: per_transaction(after.1 - before.1),
        sample,
    })
}

/// Watches the server while `load` runs, which calls what it is given when its clock starts.
pub(crate) fn observe(
    server: u32,
    postgres: u32,
    load: impl FnOnce(&mut dyn FnMut()) -> anyhow::Result<Sample>,
) -> anyhow::Result<Run> {
    let rss_before = processes::rss(server)?;
    let watch = Watch::start(server);
    let mut before = None;
    let load = load(&mut || before = Some(Spent::so_far(server, postgres)))?;
    let spent = Spent::so_far(server, postgres)?;
    let before = before.context("the clock was never started")??;
    let per_request = |seconds: f64| seconds * 1e6 / load.requests as f64;
    Ok(Run {
        cpu_us: per_request(spent.server - before.server),
        postgres_us: per_request(spent.postgres - before.postgres),
        generator_us: per_request(spent.generator - before.generator),
        load,
        rss_before,
        rss_most: watch.stop(),
    })
}

/// Processor time in seconds.
struct Spent {
    server: f64,
    postgres: f64,
    generator: f64,
}

impl Spent {
    fn so_far(server: u32, postgres: u32) -> anyhow::Result<Self> {
        Ok(Self {
            server: CpuTime::of(server)?.own,
            postgres: CpuTime::of_tree(postgres),
            generator: CpuTime::now()?.own,
        })
    }
}

/// Everything about some sides, and what pgbench did beside them with the statements of each.
pub(crate) fn table(sides: &[(&str, &[Run])], pgbench: &[(&str, &[PgbenchRun])]) -> Table {
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
    let row = |&(name, runs): &(&str, &[Run])| {
        vec![
            name.to_owned(),
            decimals(median(runs, |run| run.load.per_second)),
            format!("{:.2}", median(runs, |run| run.load.p50_ms)),
            format!("{:.2}", median(runs, |run| run.load.p99_ms)),
            decimals(median(runs, |run| run.cpu_us)),
            decimals(median(runs, |run| run.postgres_us)),
            decimals(median(runs, |run| run.generator_us)),
            match most(runs) {
                nothing if nothing.is_nan() => "–".to_owned(),
                most => format!("{most:.1} MB"),
            },
        ]
    };
    let mut rows: Vec<Vec<String>> = sides.iter().map(row).collect();
    let with_pgbench = |&(name, runs): &(&str, &[PgbenchRun])| {
        let of = |pick: fn(&PgbenchRun) -> f64| Summary::of(runs.iter().map(pick).collect()).median;
        let nothing = || "–".to_owned();
        vec![
            name.to_owned(),
            decimals(of(|run| run.sample.per_second)),
            format!("{:.2} (mean)", of(|run| run.sample.mean_ms)),
            nothing(),
            decimals(of(|run| run.cpu_us)),
            decimals(of(|run| run.postgres_us)),
            nothing(),
            nothing(),
        ]
    };
    let measured = pgbench.iter().filter(|(_, runs)| !runs.is_empty());
    rows.extend(measured.map(with_pgbench));
    Table::new(&header, rows)
}

pub(crate) fn rates(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.load.per_second).collect()
}

pub(crate) fn most(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.rss_most).fold(f64::NAN, f64::max)
}

fn median(runs: &[Run], pick: impl Fn(&Run) -> f64) -> f64 {
    Summary::of(runs.iter().map(pick).collect()).median
}

fn decimals(value: f64) -> String {
    match value {
        nothing if nothing.is_nan() => "–".to_owned(),
        small if small < 100.0 => format!("{small:.1}"),
        large => format!("{large:.0}"),
    }
}
