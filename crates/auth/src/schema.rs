//! The schema `auth` (auth contract §11): its tables, types, rights and helper functions.
//!
//! Only the list of files is here; each file of `migrations/` opens with its reason. They are run
//! by `plinth_db::migrate`, the ledger lives outside this schema, and what the rows mean is the
//! business of the modules that own them.

use plinth_db::migrate::{Migration, MigrationSet};

/// Everything that has to be installed before the service can work in a project's database.
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "auth",
    migrations: &[
        Migration { version: 1, name: "schema", sql: include_str!("../migrations/0001_schema.sql") },
        Migration {
            version: 2,
            name: "request_helpers",
            sql: include_str!("../migrations/0002_request_helpers.sql"),
        },
    ],
};
