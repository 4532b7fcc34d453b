//! The program: command line, wiring, start and stop. Product logic lives in the other crates.

mod cli;
mod failure;
mod files;
mod folder;
mod server;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;

/// A request makes many small allocations, which this allocator is made for, and a large answer's
/// memory goes back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    use_small_pages();
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

/// The allocator asks for huge pages, and a server at rest needs a few kilobytes of each.
fn use_small_pages() {
    // Where it cannot be had, the process is only larger.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
