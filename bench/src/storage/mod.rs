//! The storage service over HTTP: small files beside a bare program that does the same SQL and
//! file work, and beside a reference server where there is one; a large file beside `dd`, MD5 and
//! nginx; pages of a bucket with a million objects.
//!
//! The whole program serves a PostgreSQL of the benchmark's own over its unix socket. The load
//! generator shares the machine with them.

mod bare;
mod figures;
mod large;
mod listing;
mod replay;
mod sides;
mod small;
mod stage;

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

use self::{
    bare::Bare,
    large::Transfers,
    replay::Replay,
    sides::Side,
    small::{FILES, ScriptedClient, Work},
    stage::{Clients, Stage, Watched},
};
use crate::{
    databases::Databases,
    load,
    machine::Machine,
    memory::Watch,
    processes,
    report::{Detail, Report, sentence},
    start::program::{self, Installation},
    steal_guard::StealGuard,
    work_folder,
};

/// Clients at once, and database connections of each program.
const CONNECTIONS: u16 = 16;
/// How many runs may be repeated per round.
const MAX_REPEATS_PER_ROUND: u32 = 6;
const DATABASE: &str = "bench";
/// Often enough that Plinth has prepared its statements.
const WARM_UP_REQUESTS: u64 = 5;
/// Where files go that are uploaded during a measurement.
const RECORDED_FOLDER: &str = "seen";

/// Command line of `plinth-bench storage`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often each side runs.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=15))]
    rounds: u16,
    /// How long each run with small files lasts.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=60))]
    seconds: u16,
    /// How often the large file goes up and down.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    large_rounds: u16,
    /// How large the large file is, in mebibytes.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    mebibytes: u32,
    /// How many objects are many.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(100_000..=10_000_000))]
    objects: u32,
    /// Only some parts.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Part>,
}

/// What can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Small,
    Large,
    Listing,
}

impl Options {
    fn has(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let plinth = program::find()?;
    eprintln!("preparing a server ...");
    let databases = Databases::start()?;
    databases.create(DATABASE)?;
    let files = work_folder::create()?;
    let installation = Installation::new(&plinth)?
        .with(["--database-url".to_owned(), databases.url(DATABASE)])
        .with(settings(files.path().display()));
    let (full, _) = installation.start()?;
    let side = Side::full(installation.port(), full.status()?.notes("ANON_KEY")?);
    make_buckets(&databases)?;

    let mut report = Report::new("storage", "The storage service over HTTP", machine);
    report.setting = vec![format!("PostgreSQL {}", databases.version())];
    let mut steal_guard = StealGuard::new(u32::from(options.rounds) * MAX_REPEATS_PER_ROUND);
    let rss_before = processes::rss(full.pid())?;
    let watch = Watch::start(full.pid());
    let watched = Watched {
        plinth: full.pid(),
        postgres: databases.pid()?,
    };
    let bench = Bench {
        options,
        databases: &databases,
        side: &side,
        watched,
    };
    if options.has(Part::Small) {
        bench.small(&mut report, &mut steal_guard)?;
    }
    if options.has(Part::Large) {
        let transfers = Transfers {
            side: &side,
            plinth: full.pid(),
            databases: &databases,
            folder: files.path(),
            options,
        };
        let (large, sentences) = transfers.measure(&mut steal_guard)?;
        report.setting.extend(sentences);
        let measures = figures::of_large(&large, options.mebibytes);
        report.measures.extend(measures);
        report.details.push(Detail {
            title: format!("One file of {} MB", options.mebibytes),
            table: large.table(),
        });
    }
    if options.has(Part::Listing) {
        listing::fill(&databases, options)?;
        let compared = listing::measure(options, &side, watched)?;
        let measures = compared.iter().map(|it| it.to_measure(options));
        report.measures.extend(measures);
        report.details.push(Detail {
            title: "Pages of a listing".to_owned(),
            table: listing::table(&compared),
        });
    }
    report
        .measures
        .push(figures::memory(rss_before, watch.stop()));
    report.setting.push(steal_guard.sentence());
    report.setting.push(format!(
        "{} rounds of {} s per side, alternating; row-level security on, files synced; pools of \
         {CONNECTIONS}",
        options.rounds, options.seconds
    ));
    full.stop()?;
    databases.stop();
    Ok(report)
}

fn settings(files: impl std::fmt::Display) -> Vec<String> {
    let settings = [
        format!("plinth.pool.size={CONNECTIONS}"),
        format!("plinth.storage.path={files}"),
        "storage.file_size_limit=16GiB".to_owned(),
    ];
    settings
        .into_iter()
        .flat_map(|setting| ["--set".to_owned(), setting])
        .collect()
}

/// Anonymous callers may do what is asked here, because a policy says so.
fn make_buckets(databases: &Databases) -> anyhow::Result<()> {
    let (small, large, few, many) = (small::BUCKET, large::BUCKET, listing::FEW, listing::MANY);
    let sql = format!(
        "insert into storage.buckets (id, name, public) values
             ('{small}', '{small}', true), ('{large}', '{large}', true),
             ('{few}', '{few}', false), ('{many}', '{many}', false);
         create policy anybody on storage.objects for all to anon
             using (bucket_id in ('{small}', '{large}', '{few}', '{many}'))"
    );
    databases.execute(DATABASE, &sql)
}

/// What the parts need.
struct Bench<'a> {
    options: &'a Options,
    databases: &'a Databases,
    side: &'a Side,
    watched: Watched,
}

impl Bench<'_> {
    /// Downloads and uploads of small files.
    fn small(&self, report: &mut Report, steal_guard: &mut StealGuard) -> anyhow::Result<()> {
        // An external server keeps the files of earlier runs.
        let began = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let files = format!("files-{began}");
        upload_all(self.side, &files)?;
        let reference = match reference(&files) {
            Ok(Some(reference)) => Some(reference),
            Ok(None) => {
                let sentence = "Without a reference server: STORAGE_API_URL is not set";
                report.setting.push(sentence.to_owned());
                None
            }
            Err(error) => {
                report
                    .setting
                    .push(sentence("Without a reference server", &error));
                None
            }
        };
        for work in [Work::Download, Work::Upload] {
            let clients = |side| {
                Clients::new(side, |client| match work {
                    Work::Download => ScriptedClient::download(side, &files, client),
                    Work::Upload => {
                        ScriptedClient::upload(side, &format!("up-{began}-{client:02}"), client)
                    }
                })
            };
            let mut bare = self.bare(work, &files)?;
            let (full, reference) = (clients(self.side), reference.as_ref().map(clients));
            let options = self.options;
            let stage = Stage::measure(
                work,
                options,
                self.watched,
                &mut bare,
                full,
                reference,
                steal_guard,
            )?;
            report.measures.extend(figures::of_stage(&stage));
            report.details.push(figures::detail(&stage));
        }
        Ok(())
    }

    /// Writes down what Plinth runs for one request, and makes a program that runs the same.
    fn bare(&self, work: Work, files: &str) -> anyhow::Result<Bare> {
        let log = |what: &str| {
            let sql = format!("alter system set log_statement = {what}");
            self.databases.execute(DATABASE, &sql)?;
            self.databases.execute(DATABASE, "select pg_reload_conf()")
        };
        let (folder, scripted_client) = match work {
            Work::Download => (files, ScriptedClient::download(self.side, files, 0)),
            Work::Upload => (
                RECORDED_FOLDER,
                ScriptedClient::upload(self.side, RECORDED_FOLDER, 0),
            ),
        };
        let (scripted_client, _) =
            load::run_alone(self.side.port, scripted_client, WARM_UP_REQUESTS)?;
        log("'all'")?;
        let mut name = String::new();
        let seen = self.databases.statements().during(|| {
            let (scripted_client, _) = load::run_alone(self.side.port, scripted_client, 1)?;
            name = scripted_client.name();
            Ok(())
        })?;
        log("default")?;
        let version = match work {
            Work::Download => None,
            Work::Upload => {
                let sql = format!("select version from storage.objects where name = '{name}'");
                Some(self.databases.text(DATABASE, &sql)?)
            }
        };
        let replay = Replay::new(&seen, &name, version.as_deref())
            .with_context(|| format!("what was seen of {}", work.what()))?;
        let (transactions, statements) = replay.counts();
        eprintln!(
            "{}: {transactions} transactions, {statements} statements",
            work.what()
        );
        let login = self.databases.login(DATABASE);
        Bare::new(work, login, self.databases.pid()?, replay, folder)
    }
}

/// Everything that will be downloaded.
fn upload_all(side: &Side, folder: &str) -> anyhow::Result<()> {
    let scripted_client = ScriptedClient::upload(side, folder, 0);
    let uploaded = load::run_alone(side.port, scripted_client, FILES.unsigned_abs().into());
    uploaded.with_context(|| format!("{} takes no files", side.name))?;
    Ok(())
}

/// The reference server with its files, if there is one.
fn reference(files: &str) -> anyhow::Result<Option<Side>> {
    let Some(side) = Side::reference()? else {
        return Ok(None);
    };
    side.make_bucket(small::BUCKET)?;
    upload_all(&side, files)?;
    Ok(Some(side))
}
