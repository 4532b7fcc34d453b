//! One wish with many connections: all sides by turns.

use std::time::Duration;

use anyhow::Context as _;

use super::{
    CONNECTIONS, Options, SESSIONS_PER_CONNECTION, bare_bcrypt, people,
    script::FIRST_TOKEN,
    sides::{GOTRUE, Side},
    talk::{Talk, Wish},
};
use crate::{
    calm::Calm,
    databases::Databases,
    load,
    pgbench::Pgbench,
    run::{self, PgbenchRun, Run},
};

/// Threads of pgbench, as many as the machine of the goals has cores.
const PGBENCH_THREADS: u16 = 2;

/// The people of one side.
const BLOCK: u64 = CONNECTIONS as u64 * SESSIONS_PER_CONNECTION;

/// A side and its clients, who remember their tokens from run to run.
pub(crate) struct Clients<'a> {
    pub(crate) side: &'a Side,
    talks: Vec<Talk>,
}

impl<'a> Clients<'a> {
    /// The people of a block, who are nobody else's.
    pub(crate) fn new(side: &'a Side, block: u64) -> anyhow::Result<Self> {
        let talk = |connection: u64| {
            let first = first_person(block) + connection * SESSIONS_PER_CONNECTION;
            Talk::new(side, Wish::Refresh, first..first + SESSIONS_PER_CONNECTION)
        };
        let talks = (0..u64::from(CONNECTIONS)).map(talk);
        // Everybody has an access token from here on.
        let talks = talks.map(|talk| {
            let everybody = talk.count();
            let done = load::run_alone(side.port, talk, everybody);
            Ok(done.with_context(|| side.name)?.0)
        });
        Ok(Self {
            side,
            talks: talks.collect::<anyhow::Result<_>>()?,
        })
    }

    fn run(&mut self, wish: Wish, postgres: u32, duration: Duration) -> anyhow::Result<Run> {
        self.talks = self
            .talks
            .drain(..)
            .map(|talk| talk.wishing(wish))
            .collect();
        let (port, talks) = (self.side.port, &mut self.talks);
        let run = run::observe(self.side.pid, postgres, |clock| {
            load::run(port, talks, duration, clock)
        });
        run.with_context(|| format!("{}, {}", self.side.name, wish.what()))
    }
}

/// The first person of a block.
pub(crate) fn first_person(block: u64) -> u64 {
    1 + block * BLOCK
}

/// All runs of one wish.
pub(crate) struct Stage {
    pub(crate) wish: Wish,
    pub(crate) pgbench: Vec<PgbenchRun>,
    /// Comparisons per second, where passwords are compared.
    pub(crate) bcrypt: Vec<f64>,
    pub(crate) runs: Vec<(&'static str, Vec<Run>)>,
}

impl Stage {
    pub(crate) fn title(&self) -> String {
        let whose = match self.of(GOTRUE) {
            Some(_) => ", on GoTrue's database",
            None => "",
        };
        format!("{}, {CONNECTIONS} connections{whose}", self.wish.what())
    }

    pub(crate) fn of(&self, name: &str) -> Option<&[Run]> {
        let (_, runs) = self.runs.iter().find(|(side, _)| *side == name)?;
        Some(runs)
    }

    /// All rounds of a wish on one database, beside pgbench or bare bcrypt.
    pub(crate) fn measure(
        wish: Wish,
        options: &Options,
        databases: &Databases,
        clients: &mut [Clients<'_>],
        pgbench: Option<&PgbenchSide<'_>>,
        calm: &mut Calm,
    ) -> anyhow::Result<Self> {
        let mut stage = Self {
            wish,
            pgbench: Vec::new(),
            bcrypt: Vec::new(),
            runs: clients
                .iter()
                .map(|clients| (clients.side.name, Vec::new()))
                .collect(),
        };
        eprintln!("{}:", stage.title());
        let duration = Duration::from_secs(options.seconds.into());
        for round in 1..=options.rounds {
            let mut told = format!("  round {round}:");
            if let Some(pgbench) = pgbench {
                let run = calm.take(|| pgbench.run(databases, options.seconds))?;
                told.push_str(&format!(" pgbench {:.0}/s", run.sample.per_second));
                stage.pgbench.push(run);
            }
            if wish == Wish::SignIn {
                let rate = calm.take(|| bare_bcrypt::run(duration))?;
                told.push_str(&format!(" bare bcrypt {rate:.1}/s"));
                stage.bcrypt.push(rate);
            }
            for (clients, (name, runs)) in clients.iter_mut().zip(&mut stage.runs) {
                let pid = databases.pid()?;
                let run = calm.take(|| clients.run(wish, pid, duration))?;
                told.push_str(&format!(", {name} {:.1}/s", run.load.per_second));
                runs.push(run);
            }
            eprintln!("{told}");
        }
        Ok(stage)
    }
}

/// pgbench with the statements of one wish, and people of its own.
pub(crate) struct PgbenchSide<'a> {
    pub(crate) pgbench: Pgbench,
    pub(crate) database: &'a str,
    pub(crate) block: u64,
}

impl PgbenchSide<'_> {
    /// Proves that it does what the service does.
    pub(crate) fn check(&self, databases: &Databases) -> anyhow::Result<()> {
        self.reset(databases)?;
        self.pgbench.check()
    }

    fn run(&self, databases: &Databases, seconds: u16) -> anyhow::Result<PgbenchRun> {
        self.reset(databases)?;
        // Its clock starts before it connects.
        run::observe_pgbench(databases.pid()?, || {
            self.pgbench.run(PGBENCH_THREADS, CONNECTIONS, seconds + 1)
        })
    }

    /// It starts each run with tokens whose numbers it knows.
    fn reset(&self, databases: &Databases) -> anyhow::Result<()> {
        let first = first_person(self.block);
        let people = (first, first + BLOCK - 1);
        people::renumber_tokens(databases, self.database, people, FIRST_TOKEN)
    }
}
