//! The platform's own tables, in project zero's database only.

use plinth_db::migrate::{Migration, MigrationSet};

/// Schema `platform`.
pub(crate) const MIGRATIONS: MigrationSet = MigrationSet {
    service: "platform",
    migrations: &[
        Migration {
            version: 1,
            name: "projects",
            sql: include_str!("../migrations/0001_projects.sql"),
        },
        Migration {
            version: 2,
            name: "keys",
            sql: include_str!("../migrations/0002_keys.sql"),
        },
        Migration {
            version: 3,
            name: "operators",
            sql: include_str!("../migrations/0003_operators.sql"),
        },
        Migration {
            version: 4,
            name: "notices",
            sql: include_str!("../migrations/0004_notices.sql"),
        },
        Migration {
            version: 5,
            name: "jobs",
            sql: include_str!("../migrations/0005_jobs.sql"),
        },
        Migration {
            version: 6,
            name: "s3_credentials",
            sql: include_str!("../migrations/0006_s3_credentials.sql"),
        },
        Migration {
            version: 7,
            name: "functions",
            sql: include_str!("../migrations/0007_functions.sql"),
        },
        Migration {
            version: 8,
            name: "token_limits",
            sql: include_str!("../migrations/0008_token_limits.sql"),
        },
        Migration {
            version: 9,
            name: "isolated_projects",
            sql: include_str!("../migrations/0009_isolated_projects.sql"),
        },
        Migration {
            version: 13,
            name: "advisor_ignores",
            sql: include_str!("../migrations/0013_advisor_ignores.sql"),
        },
    ],
};
