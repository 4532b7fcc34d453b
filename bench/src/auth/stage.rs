//! One operation with many connections: all sides in turn.

use std::time::Duration;

use anyhow::Context as _;

use super::{
    CONNECTIONS, Options, SESSIONS_PER_CONNECTION, bare_bcrypt,
    script::FIRST_TOKEN,
    scripted_client::{Operation, ScriptedClient},
    sides::{GOTRUE, Side},
    users,
};
use crate::{
    databases::Databases,
    load,
    pgbench::Pgbench,
    run::{self, PgbenchRun, Run},
    steal_guard::StealGuard,
};

/// Threads of pgbench, as many as the machine of the goals has cores.
const PGBENCH_THREADS: u16 = 2;

/// Number of users per side.
const BLOCK: u64 = CONNECTIONS as u64 * SESSIONS_PER_CONNECTION;

/// A side and its clients, which keep their tokens from run to run.
pub(crate) struct Clients<'a> {
    pub(crate) side: &'a Side,
    talks: Vec<ScriptedClient>,
}

impl<'a> Clients<'a> {
    /// Clients for the users of a block, which no other side uses.
    pub(crate) fn new(side: &'a Side, block: u64) -> anyhow::Result<Self> {
        let scripted_client = |connection: u64| {
            let first = first_user(block) + connection * SESSIONS_PER_CONNECTION;
            ScriptedClient::new(
                side,
                Operation::Refresh,
                first..first + SESSIONS_PER_CONNECTION,
            )
        };
        let talks = (0..u64::from(CONNECTIONS)).map(scripted_client);
        // Every user has an access token from here on.
        let talks = talks.map(|scripted_client| {
            let everybody = scripted_client.count();
            let done = load::run_alone(side.port, scripted_client, everybody);
            Ok(done.with_context(|| side.name)?.0)
        });
        Ok(Self {
            side,
            talks: talks.collect::<anyhow::Result<_>>()?,
        })
    }

    fn run(
        &mut self,
        operation: Operation,
        postgres: u32,
        duration: Duration,
    ) -> anyhow::Result<Run> {
        self.talks = self
            .talks
            .drain(..)
            .map(|scripted_client| scripted_client.with_operation(operation))
            .collect();
        let (port, talks) = (self.side.port, &mut self.talks);
        let run = run::observe(self.side.pid, postgres, |clock| {
            load::run(port, talks, duration, clock)
        });
        run.with_context(|| format!("{}, {}", self.side.name, operation.what()))
    }
}

/// The first person of a block.
pub(crate) fn first_user(block: u64) -> u64 {
    1 + block * BLOCK
}

/// All runs of one operation.
pub(crate) struct Stage {
    pub(crate) operation: Operation,
    pub(crate) pgbench: Vec<PgbenchRun>,
    /// Comparisons per second, where passwords are compared.
    pub(crate) bcrypt: Vec<f64>,
    pub(crate) runs: Vec<(&'static str, Vec<Run>)>,
}

impl Stage {
    pub(crate) fn title(&self) -> String {
        let pick_user = match self.of(GOTRUE) {
            Some(_) => ", on GoTrue's database",
            None => "",
        };
        format!(
            "{}, {CONNECTIONS} connections{pick_user}",
            self.operation.what()
        )
    }

    pub(crate) fn of(&self, name: &str) -> Option<&[Run]> {
        let (_, runs) = self.runs.iter().find(|(side, _)| *side == name)?;
        Some(runs)
    }

    /// All rounds of an operation on one database, beside pgbench or bare bcrypt.
    pub(crate) fn measure(
        operation: Operation,
        options: &Options,
        databases: &Databases,
        clients: &mut [Clients<'_>],
        pgbench: Option<&PgbenchSide<'_>>,
        steal_guard: &mut StealGuard,
    ) -> anyhow::Result<Self> {
        let mut stage = Self {
            operation,
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
            let mut notes = format!("  round {round}:");
            if let Some(pgbench) = pgbench {
                let run = steal_guard.take(|| pgbench.run(databases, options.seconds))?;
                notes.push_str(&format!(" pgbench {:.0}/s", run.sample.per_second));
                stage.pgbench.push(run);
            }
            if operation == Operation::SignIn {
                let rate = steal_guard.take(|| bare_bcrypt::run(duration))?;
                notes.push_str(&format!(" bare bcrypt {rate:.1}/s"));
                stage.bcrypt.push(rate);
            }
            for (clients, (name, runs)) in clients.iter_mut().zip(&mut stage.runs) {
                let pid = databases.pid()?;
                let run = steal_guard.take(|| clients.run(operation, pid, duration))?;
                notes.push_str(&format!(", {name} {:.1}/s", run.load.per_second));
                runs.push(run);
            }
            eprintln!("{notes}");
        }
        Ok(stage)
    }
}

/// pgbench with the statements of one operation, and users of its own.
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
        let first = first_user(self.block);
        let users = (first, first + BLOCK - 1);
        users::renumber_tokens(databases, self.database, users, FIRST_TOKEN)
    }
}
