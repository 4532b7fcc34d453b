//! What the REST service owns in a project's database, as the migrations that build it.

use plinth_db::migrate::{Migration, MigrationSet};

/// The triggers that announce schema changes (rest contract §5.2).
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "rest",
    migrations: &[Migration {
        version: 1,
        name: "schema_watch",
        sql: include_str!("../migrations/0001_schema_watch.sql"),
    }],
};
