//! The servers, and one run of one of them.

use std::time::Duration;

use anyhow::Context as _;

use super::{
    database::Database,
    load::{self, Load, Request},
    workload::Workload,
};
use crate::{
    http_response::HttpResponse,
    run::{self, Run},
};

/// A program that serves the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKind {
    /// `plinth serve rest`.
    Alone,
    /// The whole program, at `/rest/v1`.
    Full,
    SupabaseLite,
    Postgrest,
}

impl ServerKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Alone => "plinth serve rest",
            Self::Full => "plinth start",
            Self::SupabaseLite => "@supabase/lite",
            Self::Postgrest => "PostgREST",
        }
    }

    /// For pgbench running what this program sends.
    pub(crate) fn statements(self) -> &'static str {
        match self {
            Self::Full => "statements of plinth start",
            _ => "statements of plinth serve rest",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Alone | Self::Full)
    }
}

/// How a program is reached.
pub(crate) struct Side {
    pub(crate) who: ServerKind,
    pub(crate) port: u16,
    pub(crate) prefix: &'static str,
    /// A token of the anonymous role.
    pub(crate) key: String,
    pub(crate) pid: u32,
}

/// A side that has passed its check.
pub(crate) struct Ready<'a> {
    pub(crate) side: &'a Side,
    workload: Workload,
    request: Request,
    expected: HttpResponse,
}

impl Side {
    /// Sends one request and checks the response.
    pub(crate) fn prepare(
        &self,
        workload: Workload,
        database: &Database,
    ) -> anyhow::Result<Ready<'_>> {
        let request = workload.request(self);
        let asked = || -> anyhow::Result<HttpResponse> {
            let (http_response, body) = load::fetch(self.port, &request)?;
            workload.check(http_response, &body)?;
            workload.clean_up(database, 1)?;
            Ok(http_response)
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
        let load = Load {
            port: self.side.port,
            request: &self.request,
            expected: self.expected,
            connections,
        };
        let run = run::observe(self.side.pid, database.pid()?, |clock| {
            load.run(duration, clock)
        });
        let run =
            run.with_context(|| format!("{}, {}", self.side.who.name(), self.workload.what()))?;
        self.workload.clean_up(database, run.load.requests)?;
        Ok(run)
    }
}
