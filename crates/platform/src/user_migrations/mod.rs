//! A user's own migrations and seeds: plain SQL files, applied in order, one transaction each,
//! and recorded where the official tool records them (console contract §2.4.5, §3.4).

mod api_role;
mod apply;
mod file;
mod seed;
mod split;

pub use apply::{AppliedMigration, MigrationFailure};
pub use file::{BadMigrationName, MigrationFile};
pub use seed::{SeedFile, SeedOutcome};
pub use split::{Statement, split};
