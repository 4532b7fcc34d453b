//! The binary: command line, wiring, start and shutdown. Product logic is in the other crates.

mod cli;
mod failure;
mod files;
mod folder;
mod server;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;

/// Fast for the many small allocations of a request, and returns memory to the system.
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

/// The allocator requests huge pages, of which an idle server uses only a few kilobytes each.
fn use_small_pages() {
    // On failure the process only uses more memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
