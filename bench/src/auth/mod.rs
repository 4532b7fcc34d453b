//! The auth service over HTTP: refreshing, reading oneself and signing in beside `pgbench -M
//! prepared` with the statements that the service was seen to run, beside bare bcrypt, and beside
//! GoTrue where there is one; then the same requests with a thousand users and with a million.
//!
//! All serve databases of one PostgreSQL over its unix socket and run at the same time, but only
//! one of them has work. The load generator shares the machine with them.

mod bare_bcrypt;
mod figures;
mod scale;
mod script;
mod scripted_client;
mod sides;
mod stage;
mod users;

use std::{cell::RefCell, path::Path};

use anyhow::Context as _;

use self::{
    script::Recorded,
    scripted_client::{Operation, ScriptedClient},
    sides::{FULL, Keys, Program},
    stage::{Clients, PgbenchSide, Stage, first_user},
};
use crate::{
    databases::Databases,
    load,
    machine::Machine,
    pgbench::Pgbench,
    report::{Report, sentence},
    start::program::{self, Installation},
    steal_guard::StealGuard,
};

/// Clients at once, and database connections of each program.
const CONNECTIONS: u16 = 16;
/// How many runs may be repeated per round.
const MAX_REPEATS_PER_ROUND: u32 = 6;
/// People who take turns on each connection.
const SESSIONS_PER_CONNECTION: u64 = 64;

const DATABASE: &str = "bench";
const GOTRUE_DATABASE: &str = "gotrue";
/// Enough for the blocks of all sides.
const USERS: u64 = 10_000;
/// Blocks of people: two sides over HTTP, then those of pgbench.
const PGBENCH_BLOCK: u64 = 2;
/// Often enough that Plinth has prepared its statements.
const WARM_UP_REQUESTS: u64 = 3;

/// Command line of `plinth-bench auth`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often each side runs.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// How long each run lasts.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=120))]
    seconds: u16,
    /// How many users are many.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    users: u64,
    /// Leave the databases with few and many users out.
    #[arg(long)]
    without_scale: bool,
    /// Only the databases with few and many users.
    #[arg(long, conflicts_with = "without_scale")]
    only_scale: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let plinth = program::find()?;
    eprintln!("preparing a server ...");
    let databases = Databases::start()?;
    databases.create(DATABASE)?;
    let installation = Installation::new(&plinth)?
        .with(["--database-url".to_owned(), databases.url(DATABASE)])
        .with(sides::full_settings());
    let (full, _) = installation.start()?;
    let status = full.status()?;
    let keys = Keys {
        anon: status.notes("ANON_KEY")?,
        service_role: status.notes("SERVICE_ROLE_KEY")?,
        jwt_secret: status.notes("JWT_SECRET")?,
    };
    let found = Pgbench::find()?;
    let mut report = Report::new("auth", "The auth service over HTTP", machine);
    report.setting = vec![format!(
        "PostgreSQL {}, {}",
        databases.version(),
        found.version()
    )];

    let mut stages = Vec::new();
    if !options.only_scale {
        users::fill(&databases, DATABASE, USERS)?;
        let full_side = keys.side(FULL, installation.port(), "/auth/v1", full.pid());
        let bench = Bench {
            options,
            plinth: &plinth,
            databases: &databases,
            keys: &keys,
            steal_guard: RefCell::new(StealGuard::new(
                u32::from(options.rounds) * MAX_REPEATS_PER_ROUND,
            )),
        };
        let alone = keys.alone(&plinth, &databases, DATABASE)?;
        let mut clients = vec![Clients::new(&alone.side, 0)?, Clients::new(&full_side, 1)?];
        stages = bench.stages(&mut clients)?;
        report.setting.push(bench.beside_gotrue(&mut stages)?);
        report.setting.push(bench.steal_guard.borrow().sentence());
        report.setting.push(format!(
            "{} rounds of {} s per side, alternating, after half a second of warming up; {} \
             sessions per connection, {USERS} users; pools of {CONNECTIONS}",
            options.rounds, options.seconds, SESSIONS_PER_CONNECTION
        ));
    }
    full.stop()?;
    report.measures = figures::measures(&stages);
    report.details = figures::details(&stages);
    if !stages.is_empty() {
        report.measures.extend(figures::memory(&stages));
    }
    if !options.without_scale {
        let compared = scale::measure(options, &keys, &plinth, &databases)?;
        let users = options.users;
        let measures = compared.iter().map(|compared| compared.to_measure(users));
        report.measures.extend(measures);
        report.details.push(scale::to_detail(&compared, users));
    }
    databases.stop();
    Ok(report)
}

/// What the stages need.
struct Bench<'a> {
    options: &'a Options,
    plinth: &'a Path,
    databases: &'a Databases,
    keys: &'a Keys,
    steal_guard: RefCell<StealGuard>,
}

impl Bench<'_> {
    fn stages(&self, clients: &mut [Clients<'_>]) -> anyhow::Result<Vec<Stage>> {
        let mut stages = Vec::new();
        for operation in [Operation::Refresh, Operation::GetUser] {
            let pgbench = self.pgbench(operation)?;
            stages.push(self.measure(operation, clients, Some(&pgbench))?);
        }
        stages.push(self.measure(Operation::SignIn, clients, None)?);
        Ok(stages)
    }

    fn measure(
        &self,
        operation: Operation,
        clients: &mut [Clients<'_>],
        pgbench: Option<&PgbenchSide<'_>>,
    ) -> anyhow::Result<Stage> {
        let steal_guard = &mut self.steal_guard.borrow_mut();
        Stage::measure(
            operation,
            self.options,
            self.databases,
            clients,
            pgbench,
            steal_guard,
        )
    }

    /// Writes down what Plinth runs for a wish and gives it to pgbench.
    fn pgbench(&self, operation: Operation) -> anyhow::Result<PgbenchSide<'static>> {
        let user = self.databases.login(DATABASE).user;
        let log = |what: &str| {
            let sql = format!("alter role {user} {what}");
            self.databases.execute(DATABASE, &sql)
        };
        log("set log_statement = 'all'")?;
        let program = self.keys.alone(self.plinth, self.databases, DATABASE)?;
        // No other side uses these users.
        let block = PGBENCH_BLOCK + 1 + u64::from(operation == Operation::GetUser);
        let seen = [0, 1].map(|at| self.watch(&program, operation, first_user(block) + at));
        drop(program);
        log("reset log_statement")?;
        let [seen, other] = seen;
        let first = first_user(PGBENCH_BLOCK);
        let script = script::script(operation, first, &seen?, &other?)
            .with_context(|| format!("what was seen of {}", operation.what()))?;
        let login = self.databases.login(DATABASE);
        let side = PgbenchSide {
            pgbench: Pgbench::find()?.with_script(script, &login)?,
            database: DATABASE,
            block: PGBENCH_BLOCK,
        };
        side.check(self.databases)?;
        Ok(side)
    }

    /// What one request runs.
    fn watch(
        &self,
        program: &Program,
        operation: Operation,
        user: u64,
    ) -> anyhow::Result<Recorded> {
        let port = program.side.port;
        let scripted_client = ScriptedClient::new(&program.side, Operation::Refresh, [user]);
        let (scripted_client, _) = load::run_alone(port, scripted_client, WARM_UP_REQUESTS)?;
        let (scripted_client, _) = load::run_alone(
            port,
            scripted_client.with_operation(operation),
            WARM_UP_REQUESTS,
        )?;
        let token = scripted_client.refresh_token().to_owned();
        let mut child = String::new();
        let statements = self.databases.statements().during(|| {
            let (scripted_client, _) = load::run_alone(port, scripted_client, 1)?;
            scripted_client.refresh_token().clone_into(&mut child);
            Ok(())
        })?;
        Ok(Recorded {
            user,
            statements,
            token,
            child,
        })
    }

    /// The same wishes on a database that GoTrue made, served by both; a sentence about it.
    fn beside_gotrue(&self, stages: &mut Vec<Stage>) -> anyhow::Result<String> {
        let Some(gotrue) = sides::gotrue_program() else {
            return Ok("Without GoTrue: GOTRUE_BIN is not set".to_owned());
        };
        self.databases.create(GOTRUE_DATABASE)?;
        let started = || {
            self.keys
                .migrate_gotrue(&gotrue, self.databases, GOTRUE_DATABASE)?;
            users::fill(self.databases, GOTRUE_DATABASE, USERS)?;
            self.keys.gotrue(&gotrue, self.databases, GOTRUE_DATABASE)
        };
        let theirs = match started() {
            Ok(theirs) => theirs,
            Err(error) => return Ok(sentence("Without GoTrue", &error)),
        };
        let ours = self
            .keys
            .alone(self.plinth, self.databases, GOTRUE_DATABASE)?;
        let mut clients = [Clients::new(&ours.side, 0)?, Clients::new(&theirs.side, 1)?];
        for operation in [Operation::Refresh, Operation::GetUser, Operation::SignIn] {
            stages.push(self.measure(operation, &mut clients, None)?);
        }
        Ok("GoTrue on a database whose schema it made, and Plinth on the same one".to_owned())
    }
}
