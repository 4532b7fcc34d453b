//! The functions service over HTTP: its overhead for warm functions, beside Deno serving the same code; cold
//! starts; and the memory of many functions of which few are used.

mod scripted_client;
mod warm;

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use plinth_functions::Deno;

use crate::{
    load,
    machine::Machine,
    managed,
    nginx::Nginx,
    processes,
    report::{Goal, Measure, Report, Unit, sentence},
    start::program::{self, Installation},
    steal_guard::StealGuard,
};

use self::{
    scripted_client::ScriptedClient,
    warm::{CONNECTIONS, Target},
};

const MAX_COLD_START_MS: f64 = 150.0;
const MAX_MEMORY_MIB: f64 = 400.0;
const DEPLOYED: usize = 50;
const ACTIVE: usize = 5;
/// Long enough that no worker stops during a run, short enough to wait for.
const WORKER_IDLE: Duration = Duration::from_secs(15);

/// First starts, which fetch packages, fill caches and prewarm the next process.
const WARM_UP_STARTS: u16 = 3;
/// Until the next process is prewarmed and the last one has stopped.
const SETTLE_DELAY: Duration = Duration::from_millis(300);

const HELLO: &str = "Deno.serve(() => Response.json({ hello: 'world' }));\n";
const NOTES: &str = include_str!("notes.sql");
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
    let mut steal_guard = StealGuard::new(30);
    let nginx = Nginx::version();
    report.setting.push(match &nginx {
        Ok(version) => version.clone(),
        Err(error) => sentence("Without nginx", error),
    });

    let installation = Installation::new(&plinth)?.with(settings("per_worker", 1));
    for number in 0..DEPLOYED {
        let name = format!("supabase/functions/f{number}/index.ts");
        installation.write(&name, if number < ACTIVE { CLIENT } else { HELLO })?;
    }
    for warm in &warm::ALL {
        let name = format!("supabase/functions/{}/index.ts", warm.name);
        installation.write(&name, warm.code)?;
    }
    installation.write("supabase/migrations/20260101000000_notes.sql", NOTES)?;
    let (full, _) = installation.start()?;
    let key = full.status()?.notes("PUBLISHABLE_KEY")?;
    let target = Target {
        deno,
        port: installation.port(),
        key: &key,
        has_nginx: nginx.is_ok(),
    };
    for warm in &warm::ALL {
        let measures = warm.measure(options, &target, &mut steal_guard)?;
        report.measures.extend(measures);
    }
    report.setting.push(steal_guard.sentence());

    wait_until_idle(full.pid())?;
    let at_rest = processes::pss_of_tree(full.pid())?;
    for number in 0..ACTIVE {
        let scripted_client = ScriptedClient::get(&format!("/functions/v1/f{number}"), Some(&key));
        load::run_alone(installation.port(), scripted_client, 20)?;
    }
    let active = processes::pss_of_tree(full.pid())?;
    report.measures.push(Measure::new(
        format!("{DEPLOYED} functions, {ACTIVE} in use: memory of everything (PSS)"),
        Unit::Mebibytes,
        vec![active],
        ("none in use", vec![at_rest]),
        Goal::AtMost(MAX_MEMORY_MIB),
    ));
    full.stop()?;

    for (prewarmed, what) in [(0, "cold start"), (1, "start in a process that waits,")] {
        let (with_client, bare_hello) = cold_starts(&plinth, options.starts, prewarmed)?;
        report.measures.push(Measure::new(
            format!("{what} of a function with supabase-js"),
            Unit::Milliseconds,
            with_client,
            ("of one without imports", bare_hello),
            Goal::AtMost(MAX_COLD_START_MS),
        ));
    }
    Ok(report)
}

/// Each request gets a process of its own, booted for it or prewarmed.
fn cold_starts(plinth: &Path, starts: u16, prewarmed: u16) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let installation = Installation::new(plinth)?.with(settings("oneshot", prewarmed));
    installation.write("supabase/functions/client/index.ts", CLIENT)?;
    installation.write("supabase/functions/hello/index.ts", HELLO)?;
    let (full, _) = installation.start()?;
    let key = full.status()?.notes("PUBLISHABLE_KEY")?;
    let mut measured = ["client", "hello"].map(|name| {
        let scripted_client = ScriptedClient::get(&format!("/functions/v1/{name}"), Some(&key));
        (scripted_client, Vec::new())
    });
    // One after the other: a prewarmed process fits the kind of function that was called last.
    for (scripted_client, times) in &mut measured {
        for round in 0..starts + WARM_UP_STARTS {
            let begun = Instant::now();
            load::run_alone(installation.port(), scripted_client.clone(), 1)?;
            if round >= WARM_UP_STARTS {
                times.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            thread::sleep(SETTLE_DELAY);
        }
    }
    full.stop()?;
    let [(_, client), (_, hello)] = measured;
    Ok((client, hello))
}

/// Idle functions have no process.
fn wait_until_idle(plinth: u32) -> anyhow::Result<()> {
    let begun = Instant::now();
    while processes::tree(plinth).into_iter().any(is_worker) {
        ensure!(
            begun.elapsed() < WORKER_IDLE * 4,
            "an idle worker does not stop"
        );
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Whether the process is a function's Deno.
pub(crate) fn is_worker(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("--unstable-no-legacy-abort")
}

fn settings(policy: &str, prewarmed: u16) -> Vec<String> {
    let settings = [
        format!("edge_runtime.policy={policy}"),
        format!("plinth.functions.prewarmed_processes={prewarmed}"),
        format!("plinth.functions.worker_idle={}s", WORKER_IDLE.as_secs()),
        // The peer is one process, too.
        "plinth.functions.max_workers=1".to_owned(),
    ];
    settings
        .into_iter()
        .flat_map(|setting| ["--set".to_owned(), setting])
        .collect()
}
