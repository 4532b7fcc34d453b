//! One service alone, at `/`, with the environment names of the program that it replaces
//! (design §5).

mod auth;
mod rest;

use plinth_db::{PoolConfig, Target};
use plinth_log::LogStore;
use plinth_project::{Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef};
use plinth_settings::{Settings, SettingsHandle};
use plinth_token::KeySet;

pub(super) use auth::serve as serve_auth;
pub(super) use rest::{dump_config as dump_rest_config, serve as serve_rest};

use crate::failure::Outcome;

/// The one project that a service alone has.
fn project(
    target: Target,
    pool: PoolConfig,
    keyset: KeySet,
    settings: Settings,
) -> Outcome<Project> {
    let keys = ProjectKeys::new(keyset);
    // Records would need a state folder, which a service alone does not have.
    let (logs, _writer) = LogStore::open(std::env::temp_dir(), plinth_log::Config::default())?;
    Ok(Project::new(
        ProjectRef::generate(),
        ProjectKind::Default,
        ProjectDb::alone(target, pool),
        keys,
        SettingsHandle::new(settings),
        logs,
    ))
}
