//! The base schema of every project's database.

use plinth_db::migrate::{Migration, MigrationSet};

/// Extensions, the exposed schemas with their default privileges, the migration history.
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "base",
    migrations: &[
        Migration {
            version: 1,
            name: "extensions",
            sql: include_str!("../migrations/0001_extensions.sql"),
        },
        Migration {
            version: 2,
            name: "api_schemas",
            sql: include_str!("../migrations/0002_api_schemas.sql"),
        },
        Migration {
            version: 3,
            name: "migration_history",
            sql: include_str!("../migrations/0003_migration_history.sql"),
        },
        Migration {
            version: 4,
            name: "role_settings",
            sql: include_str!("../migrations/0004_role_settings.sql"),
        },
        Migration {
            version: 5,
            name: "operator_roles",
            sql: include_str!("../migrations/0005_operator_roles.sql"),
        },
    ],
};
