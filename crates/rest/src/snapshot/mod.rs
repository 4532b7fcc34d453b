//! Settings and schema cache of one project, and how they are kept up to date (rest contract §5.2).
//!
//! [`SnapshotCache`] holds the [`Snapshot`] that requests use. Its background task (`task`) loads a
//! new one after `NOTIFY pgrst`, when the settings change, or when a request names something that
//! may be new. Requests are served from the last snapshot while a load runs or fails. Without
//! requests for a while the task stops listening; the next request then waits for a load.

mod cache;
mod dump;
mod load;
mod name_lookup;
mod task;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use plinth_db::DbError;

use crate::{RestConfig, config::RoleSettings, schema_cache::SchemaCache};

pub(crate) use cache::SnapshotCache;

/// Settings and schema as of one moment.
pub(crate) struct Snapshot {
    /// Settings in the database included.
    pub(crate) config: RestConfig,
    pub(crate) roles: RoleSettings,
    pub(crate) cache: SchemaCache,
    /// By exposed schema.
    search_paths: HashMap<String, String>,
    /// The settings without those in the database. A load is due when they are replaced.
    base: Arc<RestConfig>,
    loaded_at: Instant,
    load_duration: Duration,
}

impl Snapshot {
    /// The value of `search_path` for requests to a schema.
    pub(crate) fn search_path(&self, schema: &str) -> &str {
        self.search_paths.get(schema).map_or("", String::as_str)
    }

    /// Whether it is old enough for a reload that nothing but a failed lookup asks for: its age is
    /// `factor` times its load duration, so such reloads take `1/factor` of one core at most.
    fn may_be_outdated(&self, factor: u32) -> bool {
        let min_age = (self.load_duration * factor).max(MIN_SPECULATIVE_AGE);
        self.loaded_at.elapsed() >= min_age
    }
}

/// For columns, relationships and overloads, which cannot be looked up by a name of their own.
const SPECULATIVE_FACTOR: u32 = 5;
/// For names that exist in the database but were not part of the last load.
const UNEXPOSED_FACTOR: u32 = 20;
const MIN_SPECULATIVE_AGE: Duration = Duration::from_millis(20);

/// What a request named and the schema cache does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MissingName<'a> {
    /// A relation or a function.
    Object {
        schema: &'a str,
        name: &'a str,
    },
    ColumnOrRelationship,
}

/// The role whose settings in the database (`ALTER ROLE … SET pgrst.…`) count.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SettingsRole {
    /// `authenticator`, which users' migrations name, whatever the login role is called.
    Authenticator,
    /// The login role itself.
    Login,
}

#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error(transparent)]
    Connect(#[from] DbError),
    #[error("{}", plinth_db::describe(.0))]
    Query(#[from] tokio_postgres::Error),
    #[error("invalid settings in the database: {0}")]
    Settings(String),
}
