//! Starting and stopping the server: settings, ports, PostgreSQL, platform, services, edge.
//!
//! Background tasks are started in [`running`], told to stop by one token, and awaited there;
//! nothing is spawned and forgotten.

mod access_lines;
mod address;
mod alone;
mod background;
mod banner;
mod database;
mod detach;
mod ending;
mod entrance;
mod front_door;
mod functions;
mod instance_key;
mod observe;
mod offline;
mod project_files;
mod running;
mod serving;

pub(crate) use offline::Offline;

use std::path::PathBuf;

use tokio::runtime::Runtime;

use crate::{
    cli::{Global, ServeArgs, ServiceName, StartArgs},
    failure::{Failure, Outcome},
};

/// Which form of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For a folder, on loopback unless told otherwise.
    Development,
    /// For systemd and containers: JSON logs, no well-known password, no reloading.
    Production,
}

/// `plinth start`.
pub(crate) fn start(global: &Global, args: StartArgs) -> Outcome {
    if args.detach {
        return detach::start(global);
    }
    run(global, args, Form::Development)
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
        None => run(global, args.start, Form::Production),
        Some(ServiceName::Auth) => {
            observe::init(Form::Production, global.debug);
            runtime()?.block_on(alone::serve_auth())
        }
        Some(ServiceName::Rest) if args.dump_config => {
            runtime()?.block_on(alone::dump_rest_config(args.config_file))
        }
        Some(ServiceName::Rest) => runtime()?.block_on(alone::serve_rest(args.config_file)),
        Some(service) => Err(Failure::usage(format!(
            "this plinth has no {} service yet",
            format!("{service:?}").to_lowercase()
        ))
        .next_step("`plinth serve` runs everything that there is.")),
    }
}

fn run(global: &Global, args: StartArgs, form: Form) -> Outcome {
    observe::init(form, global.debug);
    runtime()?.block_on(running::run(global, args, form))
}

fn runtime() -> Outcome<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // Tokio itself reads the variable where nothing else is said.
    if std::env::var_os("TOKIO_WORKER_THREADS").is_none() {
        builder.worker_threads(workers());
    }
    Ok(builder.enable_all().build()?)
}

/// Half of the processors: PostgreSQL, usually on the same machine, needs the other half for the
/// same requests. Handing tasks from worker to worker costs a fifth of a small request's time, and
/// what computes for long runs on threads of its own anyway.
fn workers() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(1)
}

/// Where the pinned npm packages may lie: where told and nowhere else, or beside the program, or in
/// the source tree.
pub(crate) fn runtime_dirs() -> Vec<PathBuf> {
    if let Some(told) = std::env::var_os("PLINTH_RUNTIME_DIR") {
        return vec![told.into()];
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.join("share/plinth/runtime")));
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime"));
    beside.into_iter().chain([source]).collect()
}
