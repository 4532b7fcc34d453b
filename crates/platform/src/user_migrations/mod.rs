//! A user's own migrations and seeds: plain SQL files, applied in order, one transaction each,
//! and recorded where the official tool records them (console contract §2.4.5, §3.4).

mod apply;
mod file;
mod seed;
mod shared_role;

pub use crate::sql_statements::{Statement, split};
pub use apply::{AppliedMigration, MigrationFailure};
pub(crate) use apply::{StoredMigration, run_file, stored_migrations};
pub use file::{MigrationFile, MigrationNameError};
pub use seed::{SeedFile, SeedOutcome};
