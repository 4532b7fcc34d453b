//! Migrations of the catalog's objects in a project's database.

use plinth_db::migrate::{Migration, MigrationSet};

/// The channel on which changes are announced.
pub const CHANNEL: &str = "plinth_catalog";

/// Whether they are: on a server without a superuser for us, they are not.
pub const IS_ANNOUNCED: &str = "select count(*) = 2 from pg_catalog.pg_event_trigger \
     where evtname in ('plinth_catalog_change', 'plinth_catalog_drop') and evtenabled = 'A'";

/// Event triggers that announce changes.
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "catalog",
    migrations: &[Migration {
        version: 1,
        name: "watch",
        sql: include_str!("../migrations/0001_watch.sql"),
    }],
};
