//! The schema `realtime` (realtime contract §13), as the migrations that build it.

use plinth_db::migrate::{Migration, MigrationSet};

/// Everything the realtime service owns in a project's database.
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "realtime",
    migrations: &[
        Migration {
            version: 1,
            name: "messages",
            sql: include_str!("../migrations/0001_messages.sql"),
        },
        Migration {
            version: 2,
            name: "message_days",
            sql: include_str!("../migrations/0002_message_days.sql"),
        },
        Migration {
            version: 3,
            name: "send",
            sql: include_str!("../migrations/0003_send.sql"),
        },
        Migration {
            version: 4,
            name: "filters",
            sql: include_str!("../migrations/0004_filters.sql"),
        },
        Migration {
            version: 5,
            name: "subscription",
            sql: include_str!("../migrations/0005_subscription.sql"),
        },
        Migration {
            version: 6,
            name: "publications",
            sql: include_str!("../migrations/0006_publications.sql"),
        },
        Migration {
            version: 7,
            name: "schema_state",
            sql: include_str!("../migrations/0007_schema_state.sql"),
        },
        Migration {
            version: 8,
            name: "probes",
            sql: include_str!("../migrations/0008_probes.sql"),
        },
        Migration {
            version: 9,
            name: "followers",
            sql: include_str!("../migrations/0009_followers.sql"),
        },
    ],
};
