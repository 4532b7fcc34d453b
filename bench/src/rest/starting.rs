//! Starting the programs that serve the database.

use std::path::Path;

use anyhow::Context as _;

use super::{
    database::{Database, FIRST_ID},
    peers::{self, Configuration},
    recorder::Recorder,
    script,
    sides::{ServerKind, Side},
    workload::Workload,
};
use crate::{
    managed::Login, pgbench::Pgbench, report::sentence, served::Served, start::program::free_port,
};

/// Often enough that Plinth has prepared its statements.
const RECORDED_REQUESTS: usize = 5;

/// What starting a program takes.
pub(crate) struct Starting<'a> {
    pub(crate) database: &'a Database,
    pub(crate) key: &'a str,
    pub(crate) jwt_secret: &'a str,
}

impl Starting<'_> {
    /// pgbench with what `plinth serve rest` sends.
    pub(crate) fn pgbench_of_alone(&self, plinth: &Path) -> anyhow::Result<Pgbench> {
        let mut login = self.database.login();
        let recorder = self.database.record(&mut login)?;
        let (side, _recorded) =
            self.postgrest(ServerKind::Alone, &login, plinth, &["serve", "rest"])?;
        self.pgbench(&side, &recorder)
    }

    /// pgbench with what this side sends to a recorder for one row.
    pub(crate) fn pgbench(&self, side: &Side, recorder: &Recorder) -> anyhow::Result<Pgbench> {
        for _ in 0..RECORDED_REQUESTS {
            side.prepare(Workload::OneRow, self.database)?;
        }
        let transaction = recorder.last_transaction_with(&FIRST_ID.to_string())?;
        let script = script::script(&transaction, FIRST_ID)?;
        let pgbench = Pgbench::find()?.with_script(script, &self.database.login())?;
        pgbench.check()?;
        Ok(pgbench)
    }

    pub(crate) fn alone(&self, plinth: &Path) -> anyhow::Result<(Side, Served)> {
        self.postgrest(
            ServerKind::Alone,
            &self.database.login(),
            plinth,
            &["serve", "rest"],
        )
    }

    /// `plinth serve rest` over one schema, once it responds there.
    pub(crate) fn with_schema(
        &self,
        plinth: &Path,
        schema: &str,
        path: &str,
    ) -> anyhow::Result<Served> {
        let port = free_port()?.local_addr()?.port();
        let login = self.database.login();
        let mut command = self
            .configuration(&login, port)
            .postgrest(plinth, &["serve", "rest"]);
        command.env("PGRST_DB_SCHEMAS", schema);
        Served::start(command, port, path)
            .with_context(|| format!("plinth serve rest does not start with schema {schema}"))
    }

    /// Those that can be started; a sentence about each.
    pub(crate) fn peers(&self, programs: &mut Vec<(Side, Served)>, setting: &mut Vec<String>) {
        match self.supabase_lite() {
            Ok((program, version)) => {
                programs.push(program);
                setting.push(version);
            }
            Err(error) => setting.push(sentence("Without @supabase/lite", &error)),
        }
        let Some(postgrest) = peers::postgrest_program() else {
            setting.push("Without PostgREST: POSTGREST_BIN is not set".to_owned());
            return;
        };
        let started = self.postgrest(
            ServerKind::Postgrest,
            &self.database.login(),
            &postgrest,
            &[],
        );
        match started.and_then(|program| Ok((program, peers::version(&postgrest)?))) {
            Ok((program, version)) => {
                programs.push(program);
                setting.push(version);
            }
            Err(error) => setting.push(sentence("Without PostgREST", &error)),
        }
    }

    fn supabase_lite(&self) -> anyhow::Result<((Side, Served), String)> {
        let folder = peers::install_supabase_lite()?;
        let port = free_port()?.local_addr()?.port();
        // It sees only what its own login may use.
        let login = self.database.superuser();
        let command = self.configuration(&login, port).supabase_lite(&folder);
        let served = Served::start(command, port, "/rest/v1/items?limit=1")?;
        let side = self.side(ServerKind::SupabaseLite, port, served.pid());
        Ok(((side, served), peers::supabase_lite_version(&folder)?))
    }

    fn postgrest(
        &self,
        who: ServerKind,
        login: &Login,
        program: &Path,
        arguments: &[&str],
    ) -> anyhow::Result<(Side, Served)> {
        let port = free_port()?.local_addr()?.port();
        let command = self
            .configuration(login, port)
            .postgrest(program, arguments);
        let served = Served::start(command, port, "/items?limit=1")
            .with_context(|| format!("{} does not start", who.name()))?;
        Ok((self.side(who, port, served.pid()), served))
    }

    fn configuration<'c>(&'c self, login: &'c Login, port: u16) -> Configuration<'c> {
        Configuration {
            login,
            jwt_secret: self.jwt_secret,
            port,
        }
    }

    pub(crate) fn side(&self, who: ServerKind, port: u16, pid: u32) -> Side {
        let prefix = match who {
            ServerKind::Alone | ServerKind::Postgrest => "",
            ServerKind::Full | ServerKind::SupabaseLite => "/rest/v1",
        };
        let key = self.key.to_owned();
        Side {
            who,
            port,
            prefix,
            key,
            pid,
        }
    }
}
