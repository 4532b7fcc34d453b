//! Processes are killed under load: how soon everything works again, and whether anything that was
//! acknowledged is lost.
//!
//! The server is started again at once, as a service manager would. Beside it: PostgreSQL by itself, killed
//! and started again.

mod acknowledged;
mod client;
mod fault;
mod load;
mod subscriber;
mod verify;

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tokio::runtime::Runtime;

use self::{
    acknowledged::{Acknowledged, KINDS},
    fault::Fault,
    load::{Load, Server},
    subscriber::Subscriber,
};
use crate::{
    machine::Machine,
    random::Random,
    report::{Detail, Goal, Measure, Report, Unit},
    start::{
        bare::Bare,
        program::{self, Installation, Running},
    },
    statistics::Summary,
    table::Table,
};

const MAX_RECOVERY_SECONDS: f64 = 2.0;
/// Requests of each kind that are acknowledged between two kills.
const ACKNOWLEDGED_BETWEEN: u64 = 5;
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(60);
/// Kills come at a random moment within this time.
const MAX_PAUSE_MS: i32 = 300;

const FUNCTION: &str = "Deno.serve(() => Response.json({ ok: true }));\n";
const MIGRATION: &str = "create table public.faults (id bigint primary key, value text not null);\n\
    alter publication supabase_realtime add table public.faults;\n\
    insert into storage.buckets (id, name) values ('faults', 'faults');\n";

/// Command line of `plinth-bench faults`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often each process is killed.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=500))]
    kills: u16,
    /// Only this process.
    #[arg(long, value_enum)]
    only: Option<Fault>,
}

/// What the kills of one process led to.
struct Outcome {
    fault: Fault,
    /// From each kill until requests of each kind were acknowledged again, and no longer failed.
    recoveries: Vec<[f64; KINDS.len()]>,
    lost: u64,
    acknowledged: u64,
    /// How requests ended that were not acknowledged.
    failures: String,
}

impl Outcome {
    /// Until the last kind was back.
    fn all_back(&self) -> Vec<f64> {
        let slowest = |times: &[f64; KINDS.len()]| times.iter().copied().fold(0.0, f64::max);
        self.recoveries.iter().map(slowest).collect()
    }

    fn median_of(&self, kind: usize) -> f64 {
        Summary::of(self.recoveries.iter().map(|times| times[kind]).collect()).median
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let program = program::find()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let bare = Bare::new()?;
    bare.initialise()?;
    let bare_restarts: Vec<f64> = (0..options.kills)
        .map(|_| Ok(bare.start_after_kill(&runtime)?.as_secs_f64()))
        .collect::<anyhow::Result<_>>()?;

    let mut report = Report::new("faults", "Processes killed under load", machine);
    report.setting = vec![
        format!("PostgreSQL {}", bare.version()),
        format!(
            "{} kills (SIGKILL) of each; {}",
            options.kills,
            load::description()
        ),
        "A subscriber receives every row. When plinth is killed it subscribes again; rows inserted without a \
         subscription, or in the last moments before a kill, are not expected there"
            .to_owned(),
    ];
    let mut outcomes = Vec::new();
    for fault in Fault::ALL {
        if options.only.is_none_or(|only| only == fault) {
            outcomes.push(inflict(options, fault, &program, &runtime)?);
        }
    }
    for outcome in &outcomes {
        report.measures.extend(measures(outcome, &bare_restarts));
    }
    report.details.push(details(&outcomes));
    Ok(report)
}

fn measures(outcome: &Outcome, bare_restarts: &[f64]) -> [Measure; 2] {
    let fault = outcome.fault;
    [
        Measure::new(
            format!("{fault} killed: until all services work"),
            Unit::Seconds,
            outcome.all_back(),
            (
                "PostgreSQL alone, killed and started",
                bare_restarts.to_vec(),
            ),
            Goal::AtMost(MAX_RECOVERY_SECONDS),
        ),
        Measure::new(
            format!("{fault} killed: acknowledged and lost"),
            Unit::Messages,
            vec![outcome.lost as f64],
            ("acknowledged", vec![outcome.acknowledged as f64]),
            Goal::AtMost(0.0),
        ),
    ]
}

fn details(outcomes: &[Outcome]) -> Detail {
    let mut header = vec!["killed"];
    header.extend(KINDS.iter().map(|kind| kind.name()));
    header.extend(["slowest", "requests that failed meanwhile"]);
    let rows = outcomes.iter().map(|outcome| {
        let mut row = vec![outcome.fault.to_string()];
        let medians = (0..KINDS.len()).map(|kind| format!("{:.2} s", outcome.median_of(kind)));
        row.extend(medians);
        row.push(format!("{:.2} s", Summary::of(outcome.all_back()).max));
        row.push(outcome.failures.clone());
        row
    });
    Detail {
        title: "Median time until the first success, by kind of request".to_owned(),
        table: Table::new(&header, rows.collect()),
    }
}

/// Kills one kind of process again and again, in an installation of its own, and then looks for everything
/// that was acknowledged.
fn inflict(
    options: &Options,
    fault: Fault,
    program: &std::path::Path,
    runtime: &Runtime,
) -> anyhow::Result<Outcome> {
    eprintln!("{fault}");
    let settings = [
        "--set".to_owned(),
        "auth.enable_anonymous_sign_ins=true".to_owned(),
    ];
    let installation = Installation::new(program)?.with(settings);
    installation.write("supabase/functions/echo/index.ts", FUNCTION)?;
    installation.write("supabase/migrations/20260101000000_faults.sql", MIGRATION)?;
    let (mut running, _) = installation.start()?;
    let server = Server::of(&installation, &running.status()?)?;
    let acknowledged = Acknowledged::new();
    let load = Load::start(runtime, &server, &acknowledged);
    let mut subscriber = Subscriber::start(runtime, &server)?;
    acknowledged.wait_for_more(ACKNOWLEDGED_BETWEEN, RECOVERY_TIMEOUT)?;

    let mut random = Random::new(7);
    let mut recoveries = Vec::new();
    let mut lost_row_changes = 0;
    for number in 1..=options.kills {
        if fault.closes_sockets() {
            let checking = verify::lost_row_changes(&acknowledged, &subscriber);
            lost_row_changes += runtime.block_on(checking);
        }
        thread::sleep(pause(&mut random));
        let killed_at;
        (running, killed_at) = kill(fault, running, &installation, &mut random, &acknowledged)
            .with_context(|| format!("kill {number}"))?;
        let failed = || format!("after kill {number} of {fault}");
        acknowledged
            .wait_for_recovery(RECOVERY_TIMEOUT)
            .with_context(failed)?;
        if fault.closes_sockets() {
            subscriber = Subscriber::start(runtime, &server).with_context(failed)?;
        }
        acknowledged
            .wait_for_more(ACKNOWLEDGED_BETWEEN, RECOVERY_TIMEOUT)
            .with_context(failed)?;
        // Some may have failed again meanwhile.
        let times = acknowledged
            .wait_for_recovery(RECOVERY_TIMEOUT)
            .with_context(failed)?;
        let times = times.map(|at| at.duration_since(killed_at).as_secs_f64());
        eprintln!("  {number}: {times:.2?} s");
        recoveries.push(times);
    }

    runtime.block_on(load.stop());
    let mut verdict = verify::verify(runtime, &server, &acknowledged, &subscriber)?;
    verdict.add_row_changes(lost_row_changes);
    running.stop()?;
    eprintln!("  {verdict}");
    Ok(Outcome {
        fault,
        recoveries,
        lost: verdict.lost(),
        acknowledged: acknowledged.total(),
        failures: acknowledged.failures(),
    })
}

fn pause(random: &mut Random) -> Duration {
    let milliseconds = random.between_one_and(MAX_PAUSE_MS);
    Duration::from_millis(milliseconds.unsigned_abs().into())
}

/// Returns once the processes have ended; and a new server is ready, if that was killed. Returns
/// when the kill was.
fn kill<'a>(
    fault: Fault,
    running: Running<'a>,
    installation: &'a Installation,
    random: &mut Random,
    acknowledged: &Acknowledged,
) -> anyhow::Result<(Running<'a>, Instant)> {
    if fault == Fault::Server {
        let killed_at = Instant::now();
        running.kill()?;
        acknowledged.expect_recovery();
        let (started, _) = installation.start()?;
        return Ok((started, killed_at));
    }
    let killed_at = fault.kill_below(running.pid(), random)?;
    acknowledged.expect_recovery();
    Ok((running, killed_at))
}
