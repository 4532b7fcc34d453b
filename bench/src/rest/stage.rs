//! One kind of request with one number of connections: all sides in turn.

use std::time::Duration;

use super::{
    Options,
    database::Database,
    sides::{ServerKind, Side},
    workload::Workload,
};
use crate::{
    pgbench::Pgbench,
    report::sentence,
    run::{self, PgbenchRun, Run},
    steal_guard::StealGuard,
};

/// Threads of pgbench, as many as the machine of the goals has cores.
const PGBENCH_THREADS: u16 = 2;

/// Carefully estimated: a connection costs a process and a password check.
const CONNECTED_PER_SECOND: u16 = 16;

pub(crate) struct Stage {
    pub(crate) workload: Workload,
    pub(crate) connections: u16,
    /// With the statements of each of ours; only for single rows.
    pub(crate) pgbench: Vec<(ServerKind, Vec<PgbenchRun>)>,
    pub(crate) runs: Vec<(ServerKind, Vec<Run>)>,
}

impl Stage {
    pub(crate) fn new(workload: Workload, connections: u16) -> Self {
        Self {
            workload,
            connections,
            pgbench: Vec::new(),
            runs: Vec::new(),
        }
    }

    pub(crate) fn title(&self) -> String {
        let plural = if self.connections == 1 { "" } else { "s" };
        format!(
            "{}, {} connection{plural}",
            self.workload.what(),
            self.connections
        )
    }

    pub(crate) fn of(&self, who: ServerKind) -> Option<&[Run]> {
        let (_, runs) = self.runs.iter().find(|(side, _)| *side == who)?;
        Some(runs)
    }

    /// What pgbench did with the statements of one of ours.
    pub(crate) fn pgbench_of(&self, who: ServerKind) -> Option<&[PgbenchRun]> {
        let (_, runs) = self.pgbench.iter().find(|(side, _)| *side == who)?;
        Some(runs)
    }

    /// All rounds. A peer that cannot do the work is left out; the sentences say so.
    pub(crate) fn measure(
        &mut self,
        options: &Options,
        database: &Database,
        sides: &[&Side],
        pgbench: &[(ServerKind, Pgbench)],
        steal_guard: &mut StealGuard,
    ) -> anyhow::Result<Vec<String>> {
        eprintln!("{}:", self.title());
        let mut sentences = Vec::new();
        let mut ready = Vec::new();
        for side in sides {
            match side.prepare(self.workload, database) {
                Ok(prepared) => ready.push(prepared),
                Err(error) if side.who.is_ours() => return Err(error),
                Err(error) => sentences.push(sentence("Left out", &error)),
            }
        }
        if self.workload == Workload::OneRow {
            self.pgbench = pgbench.iter().map(|(who, _)| (*who, Vec::new())).collect();
        }
        self.runs = ready
            .iter()
            .map(|ready| (ready.side.who, Vec::new()))
            .collect();
        let duration = Duration::from_secs(options.seconds.into());
        for round in 1..=options.rounds {
            let mut notes = format!("  round {round}:");
            for ((_, pgbench), (who, runs)) in pgbench.iter().zip(&mut self.pgbench) {
                // Its clock starts before it connects.
                let seconds = options.seconds + self.connections / CONNECTED_PER_SECOND;
                let pid = database.pid()?;
                let run = steal_guard.take(|| {
                    run::observe_pgbench(pid, || {
                        pgbench.run(PGBENCH_THREADS, self.connections, seconds)
                    })
                })?;
                let (what, rate) = (who.statements(), run.sample.per_second);
                notes.push_str(&format!(" pgbench, {what} {rate:.0}/s"));
                runs.push(run);
            }
            for (ready, (who, runs)) in ready.iter().zip(&mut self.runs) {
                let run = steal_guard.take(|| ready.run(database, self.connections, duration))?;
                notes.push_str(&format!(", {} {:.1}/s", who.name(), run.load.per_second));
                runs.push(run);
            }
            eprintln!("{notes}");
        }
        Ok(sentences)
    }
}
