//! The schema `storage` (storage contract §12), as the migrations that build it.

use plinth_db::migrate::{Migration, MigrationSet};

/// Everything the storage service owns in a project's database.
pub const MIGRATIONS: MigrationSet = MigrationSet {
    service: "storage",
    migrations: &[
        Migration {
            version: 1,
            name: "buckets_and_objects",
            sql: include_str!("../migrations/0001_buckets_and_objects.sql"),
        },
        Migration {
            version: 2,
            name: "guards",
            sql: include_str!("../migrations/0002_guards.sql"),
        },
        Migration {
            version: 3,
            name: "policy_helpers",
            sql: include_str!("../migrations/0003_policy_helpers.sql"),
        },
        Migration {
            version: 4,
            name: "list_with_delimiter",
            sql: include_str!("../migrations/0004_list_with_delimiter.sql"),
        },
        Migration {
            version: 5,
            name: "search_v2",
            sql: include_str!("../migrations/0005_search_v2.sql"),
        },
        Migration {
            version: 6,
            name: "search",
            sql: include_str!("../migrations/0006_search.sql"),
        },
        Migration {
            version: 7,
            name: "multipart_uploads",
            sql: include_str!("../migrations/0007_multipart_uploads.sql"),
        },
        Migration {
            version: 8,
            name: "special_buckets",
            sql: include_str!("../migrations/0008_special_buckets.sql"),
        },
        Migration {
            version: 9,
            name: "schema_state",
            sql: include_str!("../migrations/0009_schema_state.sql"),
        },
        Migration {
            version: 10,
            name: "blob_ledger",
            sql: include_str!("../migrations/0010_blob_ledger.sql"),
        },
        Migration {
            version: 11,
            name: "resumable_uploads",
            sql: include_str!("../migrations/0011_resumable_uploads.sql"),
        },
        Migration {
            version: 12,
            name: "multipart_parts",
            sql: include_str!("../migrations/0012_multipart_parts.sql"),
        },
        Migration {
            version: 13,
            name: "upload_fence",
            sql: include_str!("../migrations/0013_upload_fence.sql"),
        },
        Migration {
            version: 14,
            name: "multipart_completion",
            sql: include_str!("../migrations/0014_multipart_completion.sql"),
        },
    ],
};
