//! The REST service over HTTP: alone and in the full server, beside `pgbench -M prepared` with
//! the very statements that it sends, and beside other programs that speak its protocol.
//!
//! All serve the same database over its unix socket and run at the same time, but only one of
//! them has work. The load generator shares the machine with them.

mod database;
mod figures;
mod large_schema;
mod load;
mod peers;
mod recorder;
mod script;
mod sides;
mod stage;
mod starting;
mod workload;

use self::{
    database::Database,
    sides::{ServerKind, Side},
    stage::Stage,
    starting::Starting,
    workload::Workload,
};
use crate::{
    machine::Machine,
    report::Report,
    start::program::{self, Installation},
    steal_guard::StealGuard,
};

/// Database connections that each program may open: as many as there are clients at most.
const POOL: u16 = 64;
/// How many runs may be repeated per round.
const MAX_REPEATS_PER_ROUND: u32 = 10;
/// Clients of the heavier requests.
const FEW: u16 = 4;

/// Command line of `plinth-bench rest`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Numbers of connections for single rows, one after the other. The goals hold for 16.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64], value_parser = clap::value_parser!(u16).range(1..=i64::from(POOL)))]
    connections: Vec<u16>,
    /// How often each side runs.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// How long each run lasts.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=120))]
    seconds: u16,
    /// Leave the programs of others out.
    #[arg(long)]
    without_peers: bool,
    /// Only single rows, not the heavier requests.
    #[arg(long)]
    only_single_rows: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let plinth = program::find()?;
    eprintln!("preparing a server ...");
    let database = Database::start()?;
    let pool = ["--set".to_owned(), format!("plinth.pool.size={POOL}")];
    let installation = Installation::new(&plinth)?.with(pool);
    // Started twice: once to record what it sends.
    let mut recorded_login = database.superuser();
    let recorder = database.record(&mut recorded_login)?;
    let (full, _) = installation.start_with(&["--database-url", &recorded_login.url()])?;
    let status = full.status()?;
    let (key, jwt_secret) = (status.notes("ANON_KEY")?, status.notes("JWT_SECRET")?);
    database.fill()?;

    let starting = Starting {
        database: &database,
        key: &key,
        jwt_secret: &jwt_secret,
    };
    let full_side = starting.side(ServerKind::Full, installation.port(), full.pid());
    let pgbench = [
        (ServerKind::Alone, starting.pgbench_of_alone(&plinth)?),
        (ServerKind::Full, starting.pgbench(&full_side, &recorder)?),
    ];
    full.stop()?;
    drop(recorder);
    let (full, _) = installation.start_with(&["--database-url", &database.superuser_url()])?;
    let mut programs = vec![starting.alone(&plinth)?];
    let mut setting = vec![format!(
        "PostgreSQL {}, {}",
        database.version(),
        pgbench[0].1.version()
    )];
    if !options.without_peers {
        starting.peers(&mut programs, &mut setting);
    }
    let mut sides: Vec<&Side> = programs.iter().map(|(side, _)| side).collect();
    let full_side = starting.side(ServerKind::Full, installation.port(), full.pid());
    sides.insert(1, &full_side);

    let mut stages: Vec<Stage> = options
        .connections
        .iter()
        .map(|&connections| Stage::new(Workload::OneRow, connections))
        .collect();
    if !options.only_single_rows {
        let heavy = [Workload::Page, Workload::TenMegabytes];
        stages.extend(heavy.map(|workload| Stage::new(workload, FEW)));
        stages.push(Stage::new(Workload::Insert, 1));
    }
    let mut steal_guard = StealGuard::new(u32::from(options.rounds) * MAX_REPEATS_PER_ROUND);
    for stage in &mut stages {
        setting.extend(stage.measure(options, &database, &sides, &pgbench, &mut steal_guard)?);
    }
    setting.push(steal_guard.sentence());

    setting.push(format!(
        "{} rounds of {} s per side, alternating, after half a second of warming up; single rows \
         out of {}, row-level security on; pools of {POOL}",
        options.rounds,
        options.seconds,
        database::ITEMS
    ));
    let mut report = Report::new("rest", "The REST service over HTTP", machine);
    report.setting = setting;
    report.measures = figures::measures(&stages);
    if !options.only_single_rows {
        let tables = large_schema::measure(&starting, &plinth, options.rounds)?;
        report.measures.extend(tables);
    }
    report.details = figures::details(&stages);
    drop(programs);
    full.stop()?;
    database.stop();
    Ok(report)
}
