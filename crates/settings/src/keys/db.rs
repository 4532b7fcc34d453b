//! `[db]`: the database, its migrations and seeds.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{AT_LEAST_ONE, COUNT};
use crate::key::Key;
use crate::value::Secret;

keys! {
    /// Port on which PostgreSQL is reachable.
    pub const PORT: Key<u16> = listen_port("db.port", 54322);

    /// Port of the shadow database used for schema diffs.
    pub const SHADOW_PORT: Key<u16> = listen_port("db.shadow_port", 54320).inert();

    /// Timeout for the database to become ready at startup.
    pub const HEALTH_TIMEOUT: Key<Duration> = duration("db.health_timeout", "2m").inert();

    /// Major version of the hosted database.
    pub const MAJOR_VERSION: Key<u64> = integer("db.major_version", (13, 18), 17).inert();

    /// Version of the OrioleDB storage engine.
    pub const ORIOLEDB_VERSION: Key<Option<String>> = optional_text("db.orioledb_version").inert();

    /// Root key of the encryption extension.
    pub const ROOT_KEY: Key<Option<Secret>> = secret("db.root_key").inert();

    /// Run a connection pooler.
    pub const POOLER_ENABLED: Key<bool> = flag("db.pooler.enabled", false).inert();

    /// Port of the connection pooler.
    pub const POOLER_PORT: Key<u16> = listen_port("db.pooler.port", 54329).inert();

    /// When a server connection returns to the pool.
    pub const POOLER_POOL_MODE: Key<String> =
        choice("db.pooler.pool_mode", &["transaction", "session"], "transaction").inert();

    /// Server connections per user and database.
    pub const POOLER_DEFAULT_POOL_SIZE: Key<u64> =
        integer("db.pooler.default_pool_size", COUNT, 20).inert();

    /// Maximum number of client connections to the pooler.
    pub const POOLER_MAX_CLIENT_CONN: Key<u64> =
        integer("db.pooler.max_client_conn", COUNT, 100).inert();

    /// Apply pending migrations on start, push and reset.
    pub const MIGRATIONS_ENABLED: Key<bool> = flag("db.migrations.enabled", true);

    /// Declarative schema files, folders or globs, in order.
    pub const MIGRATIONS_SCHEMA_PATHS: Key<Vec<String>> =
        list("db.migrations.schema_paths", &[]).inert();

    /// Run the seed files on the first start and after a reset.
    pub const SEED_ENABLED: Key<bool> = flag("db.seed.enabled", true);

    /// Seed files or globs, in order.
    pub const SEED_SQL_PATHS: Key<Vec<String>> = list("db.seed.sql_paths", &["./seed.sql"]);

    /// PostgreSQL's effective_cache_size.
    pub const SETTINGS_EFFECTIVE_CACHE_SIZE: Key<Option<String>> =
        optional_text("db.settings.effective_cache_size").inert();

    /// PostgreSQL's logical_decoding_work_mem.
    pub const SETTINGS_LOGICAL_DECODING_WORK_MEM: Key<Option<String>> =
        optional_text("db.settings.logical_decoding_work_mem").inert();

    /// PostgreSQL's maintenance_work_mem.
    pub const SETTINGS_MAINTENANCE_WORK_MEM: Key<Option<String>> =
        optional_text("db.settings.maintenance_work_mem").inert();

    /// PostgreSQL's max_connections.
    pub const SETTINGS_MAX_CONNECTIONS: Key<Option<u64>> =
        optional_integer("db.settings.max_connections", AT_LEAST_ONE).inert();

    /// PostgreSQL's max_locks_per_transaction.
    pub const SETTINGS_MAX_LOCKS_PER_TRANSACTION: Key<Option<u64>> =
        optional_integer("db.settings.max_locks_per_transaction", AT_LEAST_ONE).inert();

    /// PostgreSQL's max_parallel_maintenance_workers.
    pub const SETTINGS_MAX_PARALLEL_MAINTENANCE_WORKERS: Key<Option<u64>> =
        optional_integer("db.settings.max_parallel_maintenance_workers", COUNT).inert();

    /// PostgreSQL's max_parallel_workers.
    pub const SETTINGS_MAX_PARALLEL_WORKERS: Key<Option<u64>> =
        optional_integer("db.settings.max_parallel_workers", COUNT).inert();

    /// PostgreSQL's max_parallel_workers_per_gather.
    pub const SETTINGS_MAX_PARALLEL_WORKERS_PER_GATHER: Key<Option<u64>> =
        optional_integer("db.settings.max_parallel_workers_per_gather", COUNT).inert();

    /// PostgreSQL's max_replication_slots.
    pub const SETTINGS_MAX_REPLICATION_SLOTS: Key<Option<u64>> =
        optional_integer("db.settings.max_replication_slots", COUNT).inert();

    /// PostgreSQL's max_slot_wal_keep_size.
    pub const SETTINGS_MAX_SLOT_WAL_KEEP_SIZE: Key<Option<String>> =
        optional_text("db.settings.max_slot_wal_keep_size").inert();

    /// PostgreSQL's max_standby_archive_delay.
    pub const SETTINGS_MAX_STANDBY_ARCHIVE_DELAY: Key<Option<String>> =
        optional_text("db.settings.max_standby_archive_delay").inert();

    /// PostgreSQL's max_standby_streaming_delay.
    pub const SETTINGS_MAX_STANDBY_STREAMING_DELAY: Key<Option<String>> =
        optional_text("db.settings.max_standby_streaming_delay").inert();

    /// PostgreSQL's max_wal_size.
    pub const SETTINGS_MAX_WAL_SIZE: Key<Option<String>> =
        optional_text("db.settings.max_wal_size").inert();

    /// PostgreSQL's max_wal_senders.
    pub const SETTINGS_MAX_WAL_SENDERS: Key<Option<u64>> =
        optional_integer("db.settings.max_wal_senders", COUNT).inert();

    /// PostgreSQL's max_worker_processes.
    pub const SETTINGS_MAX_WORKER_PROCESSES: Key<Option<u64>> =
        optional_integer("db.settings.max_worker_processes", COUNT).inert();

    /// PostgreSQL's session_replication_role.
    pub const SETTINGS_SESSION_REPLICATION_ROLE: Key<Option<String>> =
        optional_choice("db.settings.session_replication_role", &["origin", "replica", "local"])
            .inert();

    /// PostgreSQL's shared_buffers.
    pub const SETTINGS_SHARED_BUFFERS: Key<Option<String>> =
        optional_text("db.settings.shared_buffers").inert();

    /// PostgreSQL's statement_timeout.
    pub const SETTINGS_STATEMENT_TIMEOUT: Key<Option<String>> =
        optional_text("db.settings.statement_timeout").inert();

    /// PostgreSQL's track_activity_query_size.
    pub const SETTINGS_TRACK_ACTIVITY_QUERY_SIZE: Key<Option<String>> =
        optional_text("db.settings.track_activity_query_size").inert();

    /// PostgreSQL's track_commit_timestamp.
    pub const SETTINGS_TRACK_COMMIT_TIMESTAMP: Key<Option<bool>> =
        optional_flag("db.settings.track_commit_timestamp").inert();

    /// PostgreSQL's wal_keep_size.
    pub const SETTINGS_WAL_KEEP_SIZE: Key<Option<String>> =
        optional_text("db.settings.wal_keep_size").inert();

    /// PostgreSQL's wal_sender_timeout.
    pub const SETTINGS_WAL_SENDER_TIMEOUT: Key<Option<String>> =
        optional_text("db.settings.wal_sender_timeout").inert();

    /// PostgreSQL's work_mem.
    pub const SETTINGS_WORK_MEM: Key<Option<String>> =
        optional_text("db.settings.work_mem").inert();

    /// Restrict which networks may connect to the database port.
    pub const NETWORK_RESTRICTIONS_ENABLED: Key<bool> =
        flag("db.network_restrictions.enabled", false).inert();

    /// IPv4 networks (CIDR) that may connect to the database port; an empty list blocks all.
    pub const NETWORK_RESTRICTIONS_ALLOWED_CIDRS: Key<Vec<String>> =
        networks("db.network_restrictions.allowed_cidrs", &["0.0.0.0/0"]).inert();

    /// IPv6 networks (CIDR) that may connect to the database port; an empty list blocks all.
    pub const NETWORK_RESTRICTIONS_ALLOWED_CIDRS_V6: Key<Vec<String>> =
        networks("db.network_restrictions.allowed_cidrs_v6", &["::/0"]).inert();

    /// Reject database connections without TLS.
    pub const SSL_ENFORCEMENT_ENABLED: Key<bool> =
        flag("db.ssl_enforcement.enabled", false).inert();

    /// Secrets to store in Vault.
    pub const VAULT: Key<BTreeMap<String, Secret>> = secret_table("db.vault").inert();
}
