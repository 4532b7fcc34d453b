//! The auth service over HTTP: refreshing, reading oneself and signing in beside `pgbench -M
//! prepared` with the statements that the service was seen to run, beside bare bcrypt, and beside
//! GoTrue where there is one; then the same requests with a thousand users and with a million.
//!
//! All serve databases of one PostgreSQL over its unix socket and run at the same time, but only
//! one of them has work. The load generator shares the machine with them.

mod bare_bcrypt;
mod figures;
mod people;
mod scale;
mod script;
mod sides;
mod stage;
mod talk;

use std::{cell::RefCell, path::Path};

use anyhow::Context as _;

use self::{
    script::Seen,
    sides::{FULL, Keys, Program},
    stage::{Clients, PgbenchSide, Stage, first_person},
    talk::{Talk, Wish},
};
use crate::{
    calm::Calm,
    databases::Databases,
    load,
    machine::Machine,
    pgbench::Pgbench,
    report::{Report, sentence},
    start::program::{self, Installation},
};

/// Clients at once, and database connections of each program.
const CONNECTIONS: u16 = 16;
/// How many runs may be repeated per round.
const PATIENCE: u32 = 6;
/// People who take turns on each connection.
const SESSIONS_PER_CONNECTION: u64 = 64;

const DATABASE: &str = "bench";
const GOTRUE_DATABASE: &str = "gotrue";
/// Enough for the blocks of all sides.
const PEOPLE: u64 = 10_000;
/// Blocks of people: two sides over HTTP, then those of pgbench.
const PGBENCH_BLOCK: u64 = 2;
/// Often enough that Plinth has prepared its statements.
const UNSEEN_REQUESTS: u64 = 3;

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
        anon: status.told("ANON_KEY")?,
        service_role: status.told("SERVICE_ROLE_KEY")?,
        jwt_secret: status.told("JWT_SECRET")?,
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
        people::fill(&databases, DATABASE, PEOPLE)?;
        let full_side = keys.side(FULL, installation.port(), "/auth/v1", full.pid());
        let bench = Bench {
            options,
            plinth: &plinth,
            databases: &databases,
            keys: &keys,
            calm: RefCell::new(Calm::new(u32::from(options.rounds) * PATIENCE)),
        };
        let alone = keys.alone(&plinth, &databases, DATABASE)?;
        let mut clients = vec![Clients::new(&alone.side, 0)?, Clients::new(&full_side, 1)?];
        stages = bench.stages(&mut clients)?;
        report.setting.push(bench.beside_gotrue(&mut stages)?);
        report.setting.push(bench.calm.borrow().sentence());
        report.setting.push(format!(
            "{} rounds of {} s per side, alternating, after half a second of warming up; {} \
             sessions per connection, {PEOPLE} users; pools of {CONNECTIONS}",
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
    calm: RefCell<Calm>,
}

impl Bench<'_> {
    fn stages(&self, clients: &mut [Clients<'_>]) -> anyhow::Result<Vec<Stage>> {
        let mut stages = Vec::new();
        for wish in [Wish::Refresh, Wish::GetUser] {
            let pgbench = self.pgbench(wish)?;
            stages.push(self.measure(wish, clients, Some(&pgbench))?);
        }
        stages.push(self.measure(Wish::SignIn, clients, None)?);
        Ok(stages)
    }

    fn measure(
        &self,
        wish: Wish,
        clients: &mut [Clients<'_>],
        pgbench: Option<&PgbenchSide<'_>>,
    ) -> anyhow::Result<Stage> {
        let calm = &mut self.calm.borrow_mut();
        Stage::measure(wish, self.options, self.databases, clients, pgbench, calm)
    }

    /// Writes down what Plinth runs for a wish and gives it to pgbench.
    fn pgbench(&self, wish: Wish) -> anyhow::Result<PgbenchSide<'static>> {
        let user = self.databases.login(DATABASE).user;
        let log = |what: &str| {
            let sql = format!("alter role {user} {what}");
            self.databases.execute(DATABASE, &sql)
        };
        log("set log_statement = 'all'")?;
        let program = self.keys.alone(self.plinth, self.databases, DATABASE)?;
        // Nobody else has these people.
        let block = PGBENCH_BLOCK + 1 + u64::from(wish == Wish::GetUser);
        let seen = [0, 1].map(|at| self.watch(&program, wish, first_person(block) + at));
        drop(program);
        log("reset log_statement")?;
        let [seen, other] = seen;
        let first = first_person(PGBENCH_BLOCK);
        let script = script::script(wish, first, &seen?, &other?)
            .with_context(|| format!("what was seen of {}", wish.what()))?;
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
    fn watch(&self, program: &Program, wish: Wish, person: u64) -> anyhow::Result<Seen> {
        let port = program.side.port;
        let talk = Talk::new(&program.side, Wish::Refresh, [person]);
        let (talk, _) = load::run_alone(port, talk, UNSEEN_REQUESTS)?;
        let (talk, _) = load::run_alone(port, talk.wishing(wish), UNSEEN_REQUESTS)?;
        let token = talk.refresh_token().to_owned();
        let mut child = String::new();
        let statements = self.databases.statements().during(|| {
            let (talk, _) = load::run_alone(port, talk, 1)?;
            talk.refresh_token().clone_into(&mut child);
            Ok(())
        })?;
        Ok(Seen {
            person,
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
            people::fill(self.databases, GOTRUE_DATABASE, PEOPLE)?;
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
        for wish in [Wish::Refresh, Wish::GetUser, Wish::SignIn] {
            stages.push(self.measure(wish, &mut clients, None)?);
        }
        Ok("GoTrue on a database whose schema it made, and Plinth on the same one".to_owned())
    }
}
