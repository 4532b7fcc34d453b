//! Starting and stopping the server: settings, ports, PostgreSQL, platform, services, edge.
//!
//! Tasks are started in [`run`], cancelled by one token, and awaited there; no task is detached.

mod access_log;
mod address;
mod background;
mod banner;
mod code_folder;
mod database;
mod database_proxy;
mod detach;
mod function_host;
mod instance_key;
mod isolated;
mod listeners;
mod logging;
mod offline;
mod open_files;
mod project_files;
mod run;
mod signals;
mod standalone;
mod startup;
mod store_lock;

pub(crate) use offline::Offline;

use std::path::PathBuf;

use tokio::runtime::Runtime;

use crate::{
    cli::{Global, ServeArgs, ServiceName, StartArgs},
    failure::{Failure, Outcome},
};

/// Mode of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerMode {
    /// `plinth start`: for a folder, on loopback by default.
    Development,
    /// `plinth serve`, for systemd and containers: JSON logs, no fixed password, no file watching.
    Production,
}

/// `plinth start`.
pub(crate) fn start(global: &Global, args: StartArgs) -> Outcome {
    if args.detach {
        return detach::start(global);
    }
    run_server(global, args, ServerMode::Development)
}

/// `plinth serve`.
pub(crate) fn serve(global: &Global, args: ServeArgs) -> Outcome {
    let takes_file = args.service == Some(ServiceName::Rest);
    if !takes_file && (args.config_file.is_some() || args.dump_config) {
        return Err(Failure::usage(
            "only `plinth serve rest` takes a configuration file and --dump-config",
        ));
    }
    match args.service {
        None => run_server(global, args.start, ServerMode::Production),
        Some(ServiceName::Auth) => {
            logging::init(ServerMode::Production, global.debug);
            runtime()?.block_on(standalone::serve_auth())
        }
        Some(ServiceName::Rest) if args.dump_config => {
            runtime()?.block_on(standalone::dump_rest_config(args.config_file))
        }
        Some(ServiceName::Rest) => runtime()?.block_on(standalone::serve_rest(args.config_file)),
        Some(service) => Err(Failure::usage(format!(
            "the {} service cannot run standalone",
            format!("{service:?}").to_lowercase()
        ))
        .next_step("`plinth serve` runs all services.")),
    }
}

fn run_server(global: &Global, args: StartArgs, mode: ServerMode) -> Outcome {
    logging::init(mode, global.debug);
    runtime()?.block_on(run::run(global, args, mode))
}

/// Of a command that serves.
fn runtime() -> Outcome<Runtime> {
    open_files::raise_limit();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // Tokio reads the variable itself.
    if std::env::var_os("TOKIO_WORKER_THREADS").is_none() {
        builder.worker_threads(worker_threads());
    }
    Ok(builder.enable_all().build()?)
}

/// Half of the processors: PostgreSQL, usually on the same machine, needs the other half for the
/// same requests. Moving tasks between threads costs a fifth of a small request's time, and long
/// computations run on threads of their own.
fn worker_threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(1)
}

/// Folders of the pinned npm packages: `PLINTH_RUNTIME_DIR` only, if it is set; else beside the
/// binary, and in the source tree.
pub(crate) fn runtime_dirs() -> Vec<PathBuf> {
    if let Some(configured) = std::env::var_os("PLINTH_RUNTIME_DIR") {
        return vec![configured.into()];
    }
    let installed = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.join("share/plinth/runtime")));
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime"));
    installed.into_iter().chain([source]).collect()
}
