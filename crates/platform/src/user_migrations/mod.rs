//! A user's own migrations and seeds: plain SQL files, applied in order, one transaction each,
//! and recorded where the official tool records them (console contract §2.4.5, §3.4).

mod apply;
mod file;
mod record;
mod seed;
mod shared_role;

pub use crate::sql_statements::{Statement, split};
pub use apply::{AppliedMigration, MigrationFailure};
pub use file::{MigrationFile, MigrationNameError};
pub(crate) use record::{check_migration_name, record_statements};
pub use seed::{SeedFile, SeedOutcome};
