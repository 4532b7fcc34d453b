//! Side-by-side benchmarks: each number of ours beside a peer or a physical limit, taken in the
//! same run (`bench/README.md`). Everything stays on this machine, ends by itself, and stops the
//! servers it started.

mod as_caller;
mod auth;
mod child;
mod console;
mod cpu;
mod databases;
mod faults;
mod functions;
mod http_response;
mod load;
mod logs;
mod machine;
mod managed;
mod memory;
mod nginx;
mod pgbench;
mod plot;
mod processes;
mod random;
mod realtime;
mod report;
mod rest;
mod run;
mod served;
mod socket;
mod start;
mod statements;
mod statistics;
mod steal_guard;
mod storage;
mod table;
mod work_folder;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;

/// Plinth's benchmarks.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Where the results go.
    #[arg(long, global = true, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, clap::Subcommand)]
enum Benchmark {
    /// Accounts and sessions over HTTP, beside pgbench, bare bcrypt and GoTrue.
    Auth(auth::Options),
    /// Statements as a caller, beside `pgbench -M prepared`.
    AsCaller(as_caller::Options),
    /// Lists of the console, beside the bare statements.
    Console(console::Options),
    /// Processes killed under load, beside PostgreSQL killed by itself.
    Faults(faults::Options),
    /// The functions service over HTTP, beside Deno serving the same code by itself.
    Functions(functions::Options),
    /// Searching the log, beside grep.
    Logs(logs::Options),
    /// The realtime service over sockets, beside a bare program that writes the same bytes.
    Realtime(realtime::Options),
    /// Ten minutes of everything that channels do, with a plot of the memory that it takes.
    RealtimeSoak(realtime::soak::Options),
    /// The REST service over HTTP, beside pgbench and other programs of its protocol.
    Rest(rest::Options),
    /// The storage service over HTTP, beside a bare program with the same work, dd, MD5 and nginx.
    Storage(storage::Options),
    /// Starting, creating projects and branches, memory at rest.
    Start(start::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all goals were reached.
fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let report = match &arguments.benchmark {
        Benchmark::AsCaller(options) => as_caller::run(options)?,
        Benchmark::Auth(options) => auth::run(options)?,
        Benchmark::Console(options) => console::run(options)?,
        Benchmark::Faults(options) => faults::run(options)?,
        Benchmark::Functions(options) => functions::run(options)?,
        Benchmark::Logs(options) => logs::run(options)?,
        Benchmark::Realtime(options) => realtime::run(options)?,
        Benchmark::RealtimeSoak(options) => realtime::soak::run(options)?,
        Benchmark::Rest(options) => rest::run(options)?,
        Benchmark::Start(options) => start::run(options)?,
        Benchmark::Storage(options) => storage::run(options)?,
    };
    println!("{}", report.to_text());
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| managed::workspace().join("bench/results"));
    let page = report.write(&out)?;
    println!("written to {}", page.display());
    Ok(report.has_passed())
}
