//! A standalone service, mounted at `/`, configured by the environment variables of the program that
//! it replaces (design §5).

mod auth;
mod rest;

use plinth_db::{PoolConfig, Target};
use plinth_log::LogStore;
use plinth_project::{Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef};
use plinth_settings::{Settings, SettingsHandle};
use plinth_token::KeySet;

pub(super) use auth::serve as serve_auth;
pub(super) use rest::{dump_config as dump_rest_config, serve as serve_rest};

use crate::failure::{Failure, Outcome};

/// The only project of a standalone service.
fn project(
    target: Target,
    pool: PoolConfig,
    keyset: KeySet,
    settings: Settings,
) -> Outcome<Project> {
    let keys = ProjectKeys::new(keyset);
    // Nothing is written: the writer is dropped, since there is no state folder.
    let (logs, _writer) = LogStore::open(std::env::temp_dir(), plinth_log::Config::default())?;
    Ok(Project::new(
        ProjectRef::generate(),
        ProjectKind::Default,
        ProjectDb::standalone(target, pool),
        keys,
        SettingsHandle::new(settings),
        logs,
    ))
}

/// All problems of the settings as one failure.
fn settings_failure(problems: Vec<String>) -> Failure {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect();
    Failure::usage(format!("the settings cannot be used:{}", lines.concat()))
}
