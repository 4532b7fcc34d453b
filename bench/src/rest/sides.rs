//! Who serves, and one run of one of them.

use std::time::Duration;

use anyhow::Context as _;

use super::{
    answer::Answer,
    database::Database,
    load::{self, Load, Request, Sample},
    memory::Watch,
    workload::Workload,
};
use crate::{cpu::CpuTime, processes};

/// A program that serves the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// `plinth serve rest`.
    Alone,
    /// The whole program, at `/rest/v1`.
    Full,
    SupabaseLite,
    Postgrest,
}

impl Who {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Alone => "plinth serve rest",
            Self::Full => "plinth start",
            Self::SupabaseLite => "@supabase/lite",
            Self::Postgrest => "PostgREST",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Alone | Self::Full)
    }
}

/// How a program is reached.
pub(crate) struct Side {
    pub(crate) who: Who,
    pub(crate) port: u16,
    pub(crate) prefix: &'static str,
    /// A token of the anonymous role.
    pub(crate) key: String,
    pub(crate) pid: u32,
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

/// A side that has shown that it can do the work.
pub(crate) struct Ready<'a> {
    pub(crate) side: &'a Side,
    workload: Workload,
    request: Request,
    expected: Answer,
}

impl Side {
    /// Asks once and checks the answer.
    pub(crate) fn prepare(
        &self,
        workload: Workload,
        database: &Database,
    ) -> anyhow::Result<Ready<'_>> {
        let request = workload.request(self);
        let asked = || -> anyhow::Result<Answer> {
            let (answer, body) = load::fetch(self.port, &request)?;
            workload.check(answer, &body)?;
            workload.tidy(database, 1)?;
            Ok(answer)
        };
        let expected =
            asked().with_context(|| format!("{}, {}", self.who.name(), workload.what()))?;
        Ok(Ready {
            side: self,
            workload,
            request,
            expected,
        })
    }
}

impl Ready<'_> {
    pub(crate) fn run(
        &self,
        database: &Database,
        connections: u16,
        duration: Duration,
    ) -> anyhow::Result<Run> {
        let (pid, postgres) = (self.side.pid, database.pid()?);
        let rss_before = processes::rss(pid)?;
        let watch = Watch::start(pid);
        let mut before = None;
        let load = Load {
            port: self.side.port,
            request: &self.request,
            expected: self.expected,
            connections,
        };
        let load = load
            .run(duration, || before = Some(Spent::so_far(pid, postgres)))
            .with_context(|| format!("{}, {}", self.side.who.name(), self.workload.what()))?;
        let spent = Spent::so_far(pid, postgres)?;
        let before = before.context("the clock was never started")??;
        let per_request = |seconds: f64| seconds * 1e6 / load.requests as f64;
        let rss_most = watch.stop();
        self.workload.tidy(database, load.requests)?;
        Ok(Run {
            cpu_us: per_request(spent.server - before.server),
            postgres_us: per_request(spent.postgres - before.postgres),
            generator_us: per_request(spent.generator - before.generator),
            load,
            rss_before,
            rss_most,
        })
    }
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
