//! Soak test of everything that channels do: does memory grow, and do messages get lost?
//!
//! Permanent sockets share channels in groups of ten, each with presence and the changes of its own rows.
//! Visitors join, send, leave or just vanish. Rows are written all the while, and SQL broadcasts, too. The
//! server's memory is sampled every second.

mod counts;
mod crowd;
mod memory;
mod writer;

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Builder,
    time::{Instant, sleep},
};

use self::{counts::Counts, memory::Memory};
use super::{settings, target};
use crate::{
    machine::Machine,
    processes,
    report::{Detail, Goal, Measure, Report, Unit},
    start::program::{self, Installation},
    table::Table,
};

/// Allowed growth in the second half: less than the allocator's own noise.
const MAX_GROWTH_MIB: f64 = 8.0;
/// Timeout for messages in flight after the last one was sent.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(30);
/// After all sockets are closed.
const SETTLE_DELAY: Duration = Duration::from_secs(3);

/// Command line of `plinth-bench realtime-soak`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How long it lasts.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(5..=86_400))]
    seconds: u32,
    /// How many sockets stay.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..=5_000))]
    sockets: u16,
    /// How many come and go per second.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    visitors: u16,
    /// How many rows are written per second, each of which changes twice.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    rows: u16,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let plinth = program::find()?;
    let installation = Installation::new(&plinth)?.with(settings());
    let (full, _) = installation.start()?;
    let target = target(&installation, &full.status()?)?;
    let counts = Arc::new(Counts::default());
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (memory, after) = runtime.block_on(async {
        eprintln!("{} sockets that stay ...", options.sockets);
        let mut writer = writer::Writer::open(&target, options.sockets).await?;
        let staying = crowd::stay(&target, options.sockets, &counts).await?;
        eprintln!("{} s of everything ...", options.seconds);
        let end = Instant::now() + Duration::from_secs(options.seconds.into());
        let (memory, (), ()) = tokio::try_join!(
            Memory::watch(full.pid(), end),
            writer.write(options.rows, &counts, end),
            crowd::visit(&target, options.sockets, options.visitors, &counts, end),
        )?;
        counts.wait_for_arrivals(ARRIVAL_TIMEOUT).await;
        drop(staying);
        sleep(SETTLE_DELAY).await;
        anyhow::Ok((memory, processes::rss(full.pid())?))
    })?;
    full.stop()?;
    Ok(report(options, machine, &memory, after, &counts))
}

fn report(
    options: &Options,
    machine: Machine,
    memory: &Memory,
    after: f64,
    counts: &Counts,
) -> Report {
    let title = "The realtime service for a long time";
    let mut report = Report::new("realtime-soak", title, machine);
    report.setting.push(format!(
        "{} s; {} sockets that stay, {} that come and go per second, {} rows per second",
        options.seconds, options.sockets, options.visitors, options.rows
    ));
    report.measures.push(Measure::new(
        "RSS: growth in the second half, by its slope",
        Unit::Mebibytes,
        vec![memory.growth_of_second_half()],
        ("RSS at its end", vec![memory.last()]),
        Goal::AtMost(MAX_GROWTH_MIB),
    ));
    report.measures.push(Measure::new(
        "broadcasts and row changes that did not arrive",
        Unit::Messages,
        vec![counts.missing() as f64],
        ("expected", vec![counts.expected() as f64]),
        Goal::AtMost(0.0),
    ));
    let mut rows = counts.rows();
    let show = |what: &str, rss: f64| vec![what.to_owned(), format!("{rss:.1} MB")];
    rows.push(show("RSS at the beginning", memory.first()));
    rows.push(show("RSS at most", memory.most()));
    rows.push(show("RSS after everybody has gone", after));
    report.details.push(Detail {
        title: "What happened".to_owned(),
        table: Table::new(&["", ""], rows),
    });
    report.plot = Some(memory.plot());
    report
}
