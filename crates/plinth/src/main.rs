//! The program: command line, wiring, start and stop. Product logic lives in the other crates.

mod cli;
mod failure;
mod files;
mod folder;
mod server;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let is_debug = cli.global.debug;
    match cli::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(is_debug);
            ExitCode::from(failure.exit_code())
        }
    }
}
