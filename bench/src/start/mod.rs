//! Starting, creating projects and branches, and memory at rest: the program as people run it,
//! beside the part of each that PostgreSQL and the disk take anyway.

pub(crate) mod bare;
mod baseline;
pub(crate) mod http;
pub(crate) mod program;

use std::{path::Path, thread, time::Duration};

use anyhow::{Context as _, ensure};
use plinth_db::Target;
use tokio::runtime::Runtime;

use self::{
    bare::Bare,
    baseline::Baseline,
    program::{Installation, Running},
};
use crate::{
    machine::Machine,
    processes,
    report::{Goal, Measure, Report, Unit},
};

/// Command line of `plinth-bench start`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often everything is done from the beginning.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=50))]
    rounds: u16,
    /// Projects created per round; memory is measured with so many of them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=50))]
    projects: u16,
    /// Branches created per round.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=50))]
    branches: u16,
    /// How many seconds after the last request memory is measured. Connections of a pool are
    /// closed after 30 seconds without use.
    #[arg(long, default_value_t = 45, value_parser = clap::value_parser!(u16).range(0..=600))]
    settle: u16,
}

/// Ours and the peer's, run by run.
#[derive(Default)]
struct Pair {
    ours: Vec<f64>,
    peer: Vec<f64>,
}

impl Pair {
    fn push(&mut self, ours: Duration, peer: Duration) {
        self.ours.push(ours.as_secs_f64());
        self.peer.push(peer.as_secs_f64());
    }

    fn measure(self, what: &str, unit: Unit, peer: &str, most: f64) -> Measure {
        Measure::new(what, unit, self.ours, (peer, self.peer), Goal::AtMost(most))
    }
}

/// Everything that is measured.
#[derive(Default)]
struct Measurements {
    first_start: Pair,
    later_start: Pair,
    project: Pair,
    branch: Pair,
    isolated: Pair,
    isolated_server: Pair,
    process: Pair,
    stack: Pair,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let program = program::find()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let mut measurements = Measurements::default();
    let mut version = String::new();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        version = one_round(options, &program, &runtime, &mut measurements)?;
    }
    let mut report = Report::new("start", "Starting, creating, and memory at rest", machine);
    report.setting = vec![
        format!("PostgreSQL {version}"),
        format!(
            "{} rounds, each in a new folder: {} projects and {} branches created, the default \
             project used once, memory {} s later",
            options.rounds, options.projects, options.branches, options.settle
        ),
    ];
    report.measures = measurements.into_measures();
    Ok(report)
}

impl Measurements {
    fn into_measures(self) -> Vec<Measure> {
        let (seconds, megabytes) = (Unit::Seconds, Unit::Mebibytes);
        let database = "CREATE DATABASE … TEMPLATE";
        vec![
            self.first_start
                .measure("first start to ready", seconds, "initdb + postgres", 6.0),
            self.later_start
                .measure("later start to ready", seconds, "postgres", 2.0),
            self.project
                .measure("projects create", seconds, database, 1.0),
            self.branch
                .measure("branches create, empty project", seconds, database, 1.0),
            self.isolated.measure(
                "projects create --isolated",
                seconds,
                "initdb + postgres",
                2.5,
            ),
            self.isolated_server.measure(
                "PostgreSQL of an isolated project, PSS",
                megabytes,
                "PostgreSQL alone, PSS",
                45.0,
            ),
            self.process
                .measure("plinth, RSS", megabytes, "PostgreSQL alone, PSS", 40.0),
            self.stack.measure(
                "plinth and PostgreSQL, PSS",
                megabytes,
                "PostgreSQL alone, PSS",
                200.0,
            ),
        ]
    }
}

/// From an empty folder to a stopped server. Neighbours in time are compared: the peer runs
/// right after ours.
fn one_round(
    options: &Options,
    program: &Path,
    runtime: &Runtime,
    measurements: &mut Measurements,
) -> anyhow::Result<String> {
    let installation = Installation::new(program)?;
    let bare = Bare::new()?;
    let mut baseline = Baseline::new(runtime)?;

    let (plinth, first) = installation.start()?;
    let bare_first = bare.initialise()? + bare.start(runtime)?;
    measurements.first_start.push(first, bare_first);
    show("first start", first, bare_first);

    create(options, &plinth, &mut baseline, measurements)?;
    use_default_project(&plinth, runtime)?;
    let settle = Duration::from_secs(options.settle.into());
    let (process, stack) = memory_at_rest(&plinth, settle)?;
    let isolated = create_isolated(&plinth, bare_first, measurements)?;
    thread::sleep(settle);
    let isolated = processes::pss_of_tree(isolated)?;
    plinth.stop()?;

    let peer = memory_of_baseline(options, &mut baseline)?;
    eprintln!(
        "  plinth {process:.1} MB, with PostgreSQL {stack:.1} MB, an isolated project's PostgreSQL \
         {isolated:.1} MB, PostgreSQL alone {peer:.1} MB"
    );
    for (pair, ours) in [
        (&mut measurements.process, process),
        (&mut measurements.stack, stack),
        (&mut measurements.isolated_server, isolated),
    ] {
        pair.ours.push(ours);
        pair.peer.push(peer);
    }

    let (plinth, later) = installation.start()?;
    plinth.stop()?;
    let bare_later = bare.start(runtime)?;
    measurements.later_start.push(later, bare_later);
    show("later start", later, bare_later);
    Ok(bare.version())
}

fn create(
    options: &Options,
    plinth: &Running<'_>,
    baseline: &mut Baseline<'_>,
    measurements: &mut Measurements,
) -> anyhow::Result<()> {
    let mut peer = baseline.start()?;
    for number in 1..=options.projects {
        let (ours, _) = plinth.command(&["projects", "create", &format!("bench-{number}")])?;
        let bare = peer.create_database()?;
        measurements.project.push(ours, bare);
        show("project", ours, bare);
    }
    for number in 1..=options.branches {
        let (ours, _) = plinth.command(&["branches", "create", &format!("branch-{number}")])?;
        let bare = peer.create_database()?;
        measurements.branch.push(ours, bare);
        show("branch", ours, bare);
    }
    peer.stop();
    Ok(())
}

/// Creates an isolated project, and uses it once; the process of its PostgreSQL.
fn create_isolated(
    plinth: &Running<'_>,
    peer: Duration,
    measurements: &mut Measurements,
) -> anyhow::Result<u32> {
    let before = processes::children(plinth.pid());
    let (ours, project) = plinth.command(&["projects", "create", "bench-own", "--isolated"])?;
    measurements.isolated.push(ours, peer);
    show("isolated project", ours, peer);
    let reference = project["PLINTH_REF"].as_str().context("no PLINTH_REF")?;
    let http_response = plinth.get(&format!("/p/{reference}/auth/v1/health"));
    ensure!(
        http_response.is_some_and(|status| status < 500),
        "the isolated project responds {http_response:?}"
    );
    let new = processes::children(plinth.pid()).into_iter();
    let mut new = new.filter(|pid| !before.contains(pid));
    new.next().context("no process was started for it")
}

/// Over HTTP and over the database port, as an application and its migrations would.
fn use_default_project(plinth: &Running<'_>, runtime: &Runtime) -> anyhow::Result<()> {
    let http_response = plinth.get("/auth/v1/health");
    ensure!(
        http_response.is_some_and(|status| status < 500),
        "the default project responds {http_response:?}"
    );
    let (_, status) = plinth.command(&["status"])?;
    let url = status["DB_URL"]
        .as_str()
        .context("`plinth status` names no DB_URL")?;
    let target = Target::from_url(url)?;
    runtime.block_on(async {
        let client = target.connect().await?;
        client
            .batch_execute("create table if not exists bench_items (id int primary key)")
            .await?;
        client.query("select id from bench_items", &[]).await?;
        Ok(())
    })
}

/// The program's RSS and the PSS of it and everything below it, after a time without requests.
fn memory_at_rest(plinth: &Running<'_>, settle: Duration) -> anyhow::Result<(f64, f64)> {
    thread::sleep(settle);
    Ok((
        processes::rss(plinth.pid())?,
        processes::pss_of_tree(plinth.pid())?,
    ))
}

/// Only after Plinth has stopped: two servers at once share pages and make each other look
/// smaller. It first does the work that Plinth's server had done, since memory that a server has
/// touched stays its own.
fn memory_of_baseline(options: &Options, baseline: &mut Baseline<'_>) -> anyhow::Result<f64> {
    let mut alone = baseline.start()?;
    for _ in 0..options.projects + options.branches {
        alone.create_database()?;
    }
    alone.use_one()?;
    thread::sleep(Duration::from_secs(2));
    let pss = alone.pss()?;
    alone.stop();
    Ok(pss)
}

fn show(what: &str, ours: Duration, peer: Duration) {
    eprintln!(
        "  {what}: {:.2} s, bare {:.2} s",
        ours.as_secs_f64(),
        peer.as_secs_f64()
    );
}
