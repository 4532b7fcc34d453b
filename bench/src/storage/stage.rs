//! One kind of work with small files: all sides in turn.

use std::time::Duration;

use anyhow::Context as _;

use super::{
    CONNECTIONS, Options,
    bare::{BARE, Bare},
    sides::{FULL, Side},
    small::{ScriptedClient, Work},
};
use crate::{
    cpu::CpuTime,
    load,
    run::{self, Run},
    steal_guard::StealGuard,
};

/// A side and its clients, which continue from run to run.
pub(crate) struct Clients<'a> {
    side: &'a Side,
    talks: Vec<ScriptedClient>,
}

impl<'a> Clients<'a> {
    pub(crate) fn new(side: &'a Side, scripted_client: impl Fn(u16) -> ScriptedClient) -> Self {
        Self {
            side,
            talks: (0..CONNECTIONS).map(scripted_client).collect(),
        }
    }
}

/// The processes that are watched.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) plinth: u32,
    pub(crate) postgres: u32,
}

impl Watched {
    /// Seconds of processor time of both.
    pub(crate) fn spent(self) -> anyhow::Result<f64> {
        Ok(CpuTime::of(self.plinth)?.own + CpuTime::of_tree(self.postgres))
    }
}

/// All runs of one kind of work.
pub(crate) struct Stage {
    pub(crate) work: Work,
    pub(crate) bare: Vec<Run>,
    pub(crate) full: Vec<Run>,
    /// Requests per second; nothing else is known of it.
    pub(crate) reference: Vec<f64>,
}

impl Stage {
    pub(crate) fn title(&self) -> String {
        format!("{}, {CONNECTIONS} connections", self.work.what())
    }

    pub(crate) fn measure(
        work: Work,
        options: &Options,
        watched: Watched,
        bare: &mut Bare,
        mut full: Clients<'_>,
        mut reference: Option<Clients<'_>>,
        steal_guard: &mut StealGuard,
    ) -> anyhow::Result<Self> {
        let mut stage = Self {
            work,
            bare: Vec::new(),
            full: Vec::new(),
            reference: Vec::new(),
        };
        eprintln!("{}:", stage.title());
        let duration = Duration::from_secs(options.seconds.into());
        for round in 1..=options.rounds {
            let run = steal_guard.take(|| bare.run(CONNECTIONS, duration))?;
            let mut notes = format!("  round {round}: {BARE} {:.0}/s", run.load.per_second);
            stage.bare.push(run);

            let run = steal_guard.take(|| {
                run::observe(watched.plinth, watched.postgres, |clock| {
                    load::run(full.side.port, &mut full.talks, duration, clock)
                })
            });
            let run = run.with_context(|| format!("{FULL}, {}", work.what()))?;
            notes.push_str(&format!(", {FULL} {:.0}/s", run.load.per_second));
            stage.full.push(run);

            if let Some(Clients { side, talks }) = &mut reference {
                let rate = steal_guard.take(|| {
                    let sample = load::run(side.port, talks, duration, &mut || ())?;
                    Ok(sample.per_second)
                });
                let rate = rate.with_context(|| format!("{}, {}", side.name, work.what()))?;
                notes.push_str(&format!(", {} {rate:.0}/s", side.name));
                stage.reference.push(rate);
            }
            eprintln!("{notes}");
        }
        Ok(stage)
    }
}
