//! The functions service over HTTP: what it adds to a function that is called often, beside Deno
//! serving the same code by itself; how soon a function answers that nobody has called for long; and
//! what many functions cost of which few are used.

mod talk;

use std::{
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use plinth_functions::Deno;
use tempfile::TempDir;

use crate::{
    load,
    machine::Machine,
    managed, processes,
    report::{Goal, Measure, Report, Unit},
    served::Served,
    start::program::{self, Installation, free_port},
    work_folder,
};

use self::talk::Talk;

/// Clients at once.
const CONNECTIONS: u16 = 32;
/// Part of what Deno serves by itself.
const LEAST_OF_DENO: f64 = 0.6;
/// Added to the median of one client, in milliseconds.
const MOST_ADDED: f64 = 1.0;
const LONGEST_COLD_START: f64 = 150.0;
const MOST_MEMORY: f64 = 400.0;
const DEPLOYED: usize = 50;
const ACTIVE: usize = 5;
/// Long enough that nobody goes during a run, short enough to wait for.
const WORKER_IDLE: Duration = Duration::from_secs(15);

/// Starts that fetch packages, fill caches, and make the next process like themselves.
const FORERUNNERS: u16 = 3;
/// Until the next process waits, and the last one has gone.
const BREATH: Duration = Duration::from_millis(300);

/// What is called again and again, here and where Deno serves it by itself.
struct Warm {
    name: &'static str,
    what: &'static str,
    code: &'static str,
    talk: fn(&str, Option<&str>) -> Talk,
}

const WARM: [Warm; 2] = [
    Warm {
        name: "hello",
        what: "warm, does nothing",
        code: HELLO,
        talk: Talk::get,
    },
    Warm {
        name: "webhook",
        what: "warm, checks a signature and reads JSON",
        code: include_str!("webhook.ts"),
        talk: Talk::webhook,
    },
];

const HELLO: &str = "Deno.serve(() => Response.json({ hello: 'world' }));\n";
const CLIENT: &str = "import { createClient } from 'npm:@supabase/supabase-js@2.119.0';\n\
    const client = createClient('http://127.0.0.1', 'key');\n\
    Deno.serve(() => Response.json({ is: typeof client.from }));\n";

/// Command line of `plinth-bench functions`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// How often each side runs.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=15))]
    rounds: u16,
    /// How long each run lasts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=60))]
    seconds: u16,
    /// How many cold starts are measured.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
    starts: u16,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let machine = Machine::detect();
    let plinth = program::find()?;
    let deno = Deno::find(&[managed::runtime_dir()]);
    let deno = deno
        .program()
        .context("Deno is not installed: run `npm ci` in runtime")?;
    let mut report = Report::new("functions", "The functions service over HTTP", machine);
    report.setting.push(format!(
        "{} rounds of {} s per side, alternating; {CONNECTIONS} clients for throughput, one for times",
        options.rounds, options.seconds
    ));

    let installation = Installation::new(&plinth)?.with(settings("per_worker", 1));
    for number in 0..DEPLOYED {
        let name = format!("supabase/functions/f{number}/index.ts");
        installation.write(&name, if number < ACTIVE { CLIENT } else { HELLO })?;
    }
    for warm in &WARM {
        let name = format!("supabase/functions/{}/index.ts", warm.name);
        installation.write(&name, warm.code)?;
    }
    let (full, _) = installation.start()?;
    let key = full.status()?.told("PUBLISHABLE_KEY")?;
    for warm in &WARM {
        let measures = warm.measure(options, deno, installation.port(), &key)?;
        report.measures.extend(measures);
    }

    wait_until_idle(full.pid())?;
    let at_rest = processes::pss_of_tree(full.pid())?;
    for number in 0..ACTIVE {
        let talk = Talk::get(&format!("/functions/v1/f{number}"), Some(&key));
        load::run_alone(installation.port(), talk, 20)?;
    }
    let active = processes::pss_of_tree(full.pid())?;
    report.measures.push(Measure::new(
        format!("{DEPLOYED} functions, {ACTIVE} in use: memory of everything (PSS)"),
        Unit::Mebibytes,
        vec![active],
        ("none in use", vec![at_rest]),
        Goal::AtMost(MOST_MEMORY),
    ));
    full.stop()?;

    for (spares, what) in [(0, "cold start"), (1, "start in a process that waits,")] {
        let (with_client, bare_hello) = cold_starts(&plinth, options.starts, spares)?;
        report.measures.push(Measure::new(
            format!("{what} of a function with supabase-js"),
            Unit::Milliseconds,
            with_client,
            ("of one without imports", bare_hello),
            Goal::AtMost(LONGEST_COLD_START),
        ));
    }
    Ok(report)
}

impl Warm {
    /// Throughput and times, beside Deno with the same code.
    fn measure(
        &self,
        options: &Options,
        deno: &Path,
        our_port: u16,
        key: &str,
    ) -> anyhow::Result<[Measure; 2]> {
        let (_folder, _bare, port) = self.serve_bare(deno)?;
        let path = format!("/functions/v1/{}", self.name);
        let (ours, theirs) = ((self.talk)(&path, Some(key)), (self.talk)("/", None));
        load::run_alone(our_port, ours.clone(), 1)?;
        let duration = Duration::from_secs(options.seconds.into());
        let rate = |port, talk: &Talk| {
            let mut talks = vec![talk.clone(); CONNECTIONS.into()];
            let sample = load::run(port, &mut talks, duration, &mut || {})?;
            anyhow::Ok(sample.per_second)
        };
        let (mut rates, mut bare_rates) = (Vec::new(), Vec::new());
        let (mut added, mut bare_medians) = (Vec::new(), Vec::new());
        for round in 1..=options.rounds {
            let (bare_rate, our_rate) = (rate(port, &theirs)?, rate(our_port, &ours)?);
            let (bare_median, our_median) = (median(port, &theirs)?, median(our_port, &ours)?);
            eprintln!(
                "  {}, round {round}: Deno {bare_rate:.0}/s and {bare_median:.2} ms, \
                 plinth {our_rate:.0}/s and {our_median:.2} ms",
                self.name
            );
            rates.push(our_rate);
            bare_rates.push(bare_rate);
            bare_medians.push(bare_median);
            added.push(our_median - bare_median);
        }
        let what = self.what;
        Ok([
            Measure::new(
                format!("{what}, {CONNECTIONS} clients"),
                Unit::RequestsPerSecond,
                rates,
                ("Deno by itself", bare_rates),
                Goal::RatioAtLeast(LEAST_OF_DENO),
            ),
            Measure::new(
                format!("{what}, one client: added to the median"),
                Unit::Milliseconds,
                added,
                ("Deno by itself, in all", bare_medians),
                Goal::AtMost(MOST_ADDED),
            ),
        ])
    }

    /// Deno by itself in a folder of its own, and its port.
    fn serve_bare(&self, deno: &Path) -> anyhow::Result<(TempDir, Served, u16)> {
        let folder = work_folder::create()?;
        let file = folder.path().join("index.ts");
        std::fs::write(&file, self.code)?;
        let port = free_port()?.local_addr()?.port();
        let mut command = Command::new(deno);
        command
            .env("DENO_SERVE_ADDRESS", format!("tcp:127.0.0.1:{port}"))
            .env("DENO_DIR", folder.path().join("deno"))
            .args(["run", "--quiet", "--allow-net", "--no-config"])
            .arg(&file);
        let served = Served::start(command, port, "/")?;
        Ok((folder, served, port))
    }
}

/// The median of one client, in milliseconds.
fn median(port: u16, talk: &Talk) -> anyhow::Result<f64> {
    let (_, times) = load::run_alone(port, talk.clone(), 2_000)?;
    Ok(times.value_at_quantile(0.5) as f64 / 1e6)
}

/// Each request gets a process of its own, started for it or before.
fn cold_starts(plinth: &Path, starts: u16, spares: u16) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let installation = Installation::new(plinth)?.with(settings("oneshot", spares));
    installation.write("supabase/functions/client/index.ts", CLIENT)?;
    installation.write("supabase/functions/hello/index.ts", HELLO)?;
    let (full, _) = installation.start()?;
    let key = full.status()?.told("PUBLISHABLE_KEY")?;
    let mut measured = ["client", "hello"].map(|name| {
        let talk = Talk::get(&format!("/functions/v1/{name}"), Some(&key));
        (talk, Vec::new())
    });
    // One after the other: a process waits for the kind of function that was called last.
    for (talk, times) in &mut measured {
        for round in 0..starts + FORERUNNERS {
            let begun = Instant::now();
            load::run_alone(installation.port(), talk.clone(), 1)?;
            if round >= FORERUNNERS {
                times.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            thread::sleep(BREATH);
        }
    }
    full.stop()?;
    let [(_, client), (_, hello)] = measured;
    Ok((client, hello))
}

/// Functions that nobody calls cost no process.
fn wait_until_idle(plinth: u32) -> anyhow::Result<()> {
    let begun = Instant::now();
    while processes::tree(plinth).into_iter().any(is_worker) {
        ensure!(
            begun.elapsed() < WORKER_IDLE * 4,
            "a worker that nobody uses does not go"
        );
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn is_worker(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("--unstable-no-legacy-abort")
}

fn settings(policy: &str, spares: u16) -> Vec<String> {
    let settings = [
        format!("edge_runtime.policy={policy}"),
        format!("plinth.functions.spare_processes={spares}"),
        format!("plinth.functions.worker_idle={}s", WORKER_IDLE.as_secs()),
        // The peer is one process, too.
        "plinth.functions.max_workers=1".to_owned(),
    ];
    settings
        .into_iter()
        .flat_map(|setting| ["--set".to_owned(), setting])
        .collect()
}
