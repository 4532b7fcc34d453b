//! `[db]`: the database, its migrations and seeds.

use super::{AT_LEAST_ONE, COUNT};
use crate::key::{
    Key, choice, duration, flag, integer, list, listen_port, networks, optional_choice,
    optional_flag, optional_integer, optional_text, secret, secret_table,
};

pub(super) const KEYS: &[Key] = &[
    listen_port("db.port", 54322, "Port of the database."),
    listen_port(
        "db.shadow_port",
        54320,
        "Port of the scratch database used for diffs.",
    )
    .inert(),
    duration(
        "db.health_timeout",
        "2m",
        "Longest wait for the database to become ready.",
    ),
    integer(
        "db.major_version",
        (13, 18),
        17,
        "Major version of the hosted database.",
    ),
    optional_text(
        "db.orioledb_version",
        "Version of the OrioleDB storage engine.",
    )
    .inert(),
    secret("db.root_key", "Root key of the encryption extension.").inert(),
    flag(
        "db.pooler.enabled",
        false,
        "Run a connection pooler beside the database.",
    )
    .inert(),
    listen_port("db.pooler.port", 54329, "Port of the connection pooler.").inert(),
    choice(
        "db.pooler.pool_mode",
        &["transaction", "session"],
        "transaction",
        "When the pooler gives a connection to another client.",
    )
    .inert(),
    integer(
        "db.pooler.default_pool_size",
        COUNT,
        20,
        "Connections per user and database.",
    )
    .inert(),
    integer(
        "db.pooler.max_client_conn",
        COUNT,
        100,
        "Most clients of the pooler.",
    )
    .inert(),
    flag(
        "db.migrations.enabled",
        true,
        "Apply migrations on start, push and reset.",
    ),
    list(
        "db.migrations.schema_paths",
        &[],
        "Schema files, folders or globs that describe the database, in order.",
    ),
    flag("db.seed.enabled", true, "Run the seed files after a reset."),
    list(
        "db.seed.sql_paths",
        &["./seed.sql"],
        "Seed files or globs, in order.",
    ),
    optional_text(
        "db.settings.effective_cache_size",
        "PostgreSQL's effective_cache_size.",
    ),
    optional_text(
        "db.settings.logical_decoding_work_mem",
        "PostgreSQL's logical_decoding_work_mem.",
    ),
    optional_text(
        "db.settings.maintenance_work_mem",
        "PostgreSQL's maintenance_work_mem.",
    ),
    optional_integer(
        "db.settings.max_connections",
        AT_LEAST_ONE,
        "PostgreSQL's max_connections.",
    ),
    optional_integer(
        "db.settings.max_locks_per_transaction",
        AT_LEAST_ONE,
        "PostgreSQL's max_locks_per_transaction.",
    ),
    optional_integer(
        "db.settings.max_parallel_maintenance_workers",
        COUNT,
        "PostgreSQL's max_parallel_maintenance_workers.",
    ),
    optional_integer(
        "db.settings.max_parallel_workers",
        COUNT,
        "PostgreSQL's max_parallel_workers.",
    ),
    optional_integer(
        "db.settings.max_parallel_workers_per_gather",
        COUNT,
        "PostgreSQL's max_parallel_workers_per_gather.",
    ),
    optional_integer(
        "db.settings.max_replication_slots",
        COUNT,
        "PostgreSQL's max_replication_slots.",
    ),
    optional_text(
        "db.settings.max_slot_wal_keep_size",
        "PostgreSQL's max_slot_wal_keep_size.",
    ),
    optional_text(
        "db.settings.max_standby_archive_delay",
        "PostgreSQL's max_standby_archive_delay.",
    ),
    optional_text(
        "db.settings.max_standby_streaming_delay",
        "PostgreSQL's max_standby_streaming_delay.",
    ),
    optional_text("db.settings.max_wal_size", "PostgreSQL's max_wal_size."),
    optional_integer(
        "db.settings.max_wal_senders",
        COUNT,
        "PostgreSQL's max_wal_senders.",
    ),
    optional_integer(
        "db.settings.max_worker_processes",
        COUNT,
        "PostgreSQL's max_worker_processes.",
    ),
    optional_choice(
        "db.settings.session_replication_role",
        &["origin", "replica", "local"],
        "PostgreSQL's session_replication_role.",
    ),
    optional_text("db.settings.shared_buffers", "PostgreSQL's shared_buffers."),
    optional_text(
        "db.settings.statement_timeout",
        "PostgreSQL's statement_timeout.",
    ),
    optional_text(
        "db.settings.track_activity_query_size",
        "PostgreSQL's track_activity_query_size.",
    ),
    optional_flag(
        "db.settings.track_commit_timestamp",
        "PostgreSQL's track_commit_timestamp.",
    ),
    optional_text("db.settings.wal_keep_size", "PostgreSQL's wal_keep_size."),
    optional_text(
        "db.settings.wal_sender_timeout",
        "PostgreSQL's wal_sender_timeout.",
    ),
    optional_text("db.settings.work_mem", "PostgreSQL's work_mem."),
    flag(
        "db.network_restrictions.enabled",
        false,
        "Restrict who may reach the database port.",
    ),
    networks(
        "db.network_restrictions.allowed_cidrs",
        &["0.0.0.0/0"],
        "IPv4 ranges that may reach the database port; none blocks all.",
    ),
    networks(
        "db.network_restrictions.allowed_cidrs_v6",
        &["::/0"],
        "IPv6 ranges that may reach the database port; none blocks all.",
    ),
    flag(
        "db.ssl_enforcement.enabled",
        false,
        "Refuse database connections without TLS.",
    ),
    secret_table("db.vault", "Secrets written to the vault."),
];
