//! Migrations of the service's objects in a project's database.

use plinth_db::migrate::{Migration, MigrationSet};

/// Event triggers that notify the service of schema changes (rest contract §5.2).
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "rest",
    migrations: &[Migration {
        version: 1,
        name: "schema_watch",
        sql: include_str!("../migrations/0001_schema_watch.sql"),
    }],
};
