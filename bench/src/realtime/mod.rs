//! The realtime service over WebSockets: the cost of ten thousand idle sockets, fan-out from one sender to a
//! thousand subscribers, and delivery of row changes to permitted subscribers.
//!
//! The peer of the fan-out is a bare program that writes the same bytes to as many sockets; that of row
//! changes are the same inserts without subscribers. The load generator shares the two processors with
//! them.

mod bare;
pub(crate) mod client;
mod deliveries;
mod fan_out;
mod idle;
mod rows;
pub(crate) mod soak;

use crate::{
    machine::Machine,
    report::{Goal, Measure, Report, Unit},
    start::program::{self, Installation, Status},
};

use self::{
    bare::Bare,
    fan_out::FanOut,
    rows::{Listening, Rows, Target},
};

/// The topic of everything here.
const TOPIC: &str = "realtime:bench";
const MAX_IDLE_MEMORY_MIB: f64 = 250.0;
/// Seconds of processor time in a hundred.
const MAX_IDLE_LOAD: f64 = 2.0;
const MIN_DELIVERED: f64 = 150_000.0;
const MAX_P95_MS: f64 = 30.0;
/// Changes per second at which their latency is measured.
const CHANGES_RATE: f64 = 200.0;
const MIN_FILTERED: f64 = 1_000.0;
const MAX_FILTERED_P95_MS: f64 = 20.0;
const MIN_UNFILTERED: f64 = 200.0;
const MAX_UNFILTERED_P95_MS: f64 = 250.0;

/// Command line of `plinth-bench realtime`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often each side runs.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=15))]
    rounds: u16,
    /// How long each run lasts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=60))]
    seconds: u16,
    /// How many sockets are idle.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u16).range(1..=60_000))]
    idle: u16,
    /// How many receive the messages of one sender.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    listeners: u16,
    /// How many listen to changes of rows, each as another user.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    users: u16,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let plinth = program::find()?;
    let installation = Installation::new(&plinth)?.with(settings());
    let (full, _) = installation.start()?;
    let target = target(&installation, &full.status()?)?;
    let key = target.key.clone();
    let mut report = Report::new("realtime", "The realtime service over sockets", machine);
    report.setting.push(format!(
        "{} rounds of {} s per side, alternating; messages of {} bytes",
        options.rounds,
        options.seconds,
        fan_out::PAYLOAD_BYTES
    ));

    eprintln!("{} idle sockets ...", options.idle);
    let idle = idle::measure(full.pid(), installation.port(), &key, options.idle)?;
    let what = |what: &str| format!("{} idle sockets with a channel: {what}", options.idle);
    report.measures.push(Measure::new(
        what("RSS"),
        Unit::Mebibytes,
        vec![idle.rss],
        ("before them", vec![idle.rss_before]),
        Goal::AtMost(MAX_IDLE_MEMORY_MIB),
    ));
    report.measures.push(Measure::new(
        what("processor time in 100 s"),
        Unit::Seconds,
        vec![idle.load],
        ("before them", vec![idle.load_before]),
        Goal::AtMost(MAX_IDLE_LOAD),
    ));

    let mut ours = FanOut::open(installation.port(), Some(&key), options.listeners)?;
    let bare = Bare::start()?;
    let mut theirs = FanOut::open(bare.port(), None, options.listeners)?;
    let (mut delivered, mut by_bare) = (Vec::new(), Vec::new());
    let (mut p95, mut p95_of_bare) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        by_bare.push(theirs.saturate(options.seconds)?);
        delivered.push(ours.saturate(options.seconds)?);
        p95_of_bare.push(theirs.at_rate(MIN_DELIVERED / 2.0, options.seconds)?);
        p95.push(ours.at_rate(MIN_DELIVERED / 2.0, options.seconds)?);
        let last = |numbers: &[f64]| numbers.last().copied().unwrap_or_default();
        eprintln!(
            "  round {round}: bare {:.0}/s, plinth {:.0}/s; p95 {:.1} ms, plinth {:.1} ms",
            last(&by_bare),
            last(&delivered),
            last(&p95_of_bare),
            last(&p95)
        );
    }
    let what = format!("one sender, {} listeners", options.listeners);
    report.measures.push(Measure::new(
        format!("{what}: delivered"),
        Unit::RequestsPerSecond,
        delivered,
        ("bare program", by_bare),
        Goal::AtLeast(MIN_DELIVERED),
    ));
    report.measures.push(Measure::new(
        format!("{what}: p95 at {:.0} deliveries/s", MIN_DELIVERED / 2.0),
        Unit::Milliseconds,
        p95,
        ("bare program", p95_of_bare),
        Goal::AtMost(MAX_P95_MS),
    ));
    drop((ours, theirs));
    for (listening, least, longest_p95) in [
        (Listening::Filtered, MIN_FILTERED, MAX_FILTERED_P95_MS),
        (Listening::Unfiltered, MIN_UNFILTERED, MAX_UNFILTERED_P95_MS),
    ] {
        report
            .measures
            .extend(changes(options, &target, listening, (least, longest_p95))?);
    }
    full.stop()?;
    Ok(report)
}

/// Row changes for users who each see their own.
fn changes(
    options: &Options,
    target: &Target,
    listening: Listening,
    (least, longest_p95): (f64, f64),
) -> anyhow::Result<[Measure; 2]> {
    let mut alone = Rows::open(target, options.users, Listening::None)?;
    let mut deliveries = Rows::open(target, options.users, listening)?;
    let (mut changes, mut inserts) = (Vec::new(), Vec::new());
    let (mut p95, mut p95_alone) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        inserts.push(alone.saturate(options.seconds)?);
        changes.push(deliveries.saturate(options.seconds)?);
        p95_alone.push(alone.at_rate(CHANGES_RATE, options.seconds)?);
        p95.push(deliveries.at_rate(CHANGES_RATE, options.seconds)?);
        let last = |numbers: &[f64]| numbers.last().copied().unwrap_or_default();
        eprintln!(
            "  {listening:?}, round {round}: {:.0} inserts/s, {:.0} changes/s; p95 {:.1} ms, {:.1} ms",
            last(&inserts),
            last(&changes),
            last(&p95_alone),
            last(&p95)
        );
    }
    let with = match listening {
        Listening::Filtered => "each with a filter",
        Listening::None | Listening::Unfiltered => "without filters",
    };
    let what = |what: &str| format!("row changes, {} users {with}: {what}", options.users);
    Ok([
        Measure::new(
            what("delivered"),
            Unit::RequestsPerSecond,
            changes,
            ("inserts alone", inserts),
            Goal::AtLeast(least),
        ),
        Measure::new(
            what(&format!("p95 at {CHANGES_RATE:.0}/s")),
            Unit::Milliseconds,
            p95,
            ("inserts alone", p95_alone),
            Goal::AtMost(longest_p95),
        ),
    ])
}

fn target(installation: &Installation, status: &Status) -> anyhow::Result<Target> {
    Ok(Target {
        port: installation.port(),
        key: status.notes("PUBLISHABLE_KEY")?,
        jwt_secret: status.notes("JWT_SECRET")?,
        db_url: status.notes("DB_URL")?,
    })
}

/// Project limits are not what is measured.
fn settings() -> Vec<String> {
    let settings = [
        "plinth.realtime.max_concurrent_users=100000",
        "plinth.realtime.max_events_per_second=100000000",
        "plinth.realtime.max_joins_per_second=100000",
    ];
    settings
        .into_iter()
        .flat_map(|setting| ["--set".to_owned(), setting.to_owned()])
        .collect()
}
