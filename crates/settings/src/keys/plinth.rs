//! `[plinth]`: the program itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::AT_LEAST_ONE;
use crate::key::Key;
use crate::value::{ByteSize, Secret, WrittenUrl};

keys! {
    /// IP address to listen on; 0.0.0.0 or :: for all interfaces.
    pub const HOST: Key<String> = text("plinth.host", "127.0.0.1");

    /// Domain below which each project has a host name, `<ref>.<domain>`.
    pub const DOMAIN: Key<Option<String>> = optional_text("plinth.domain");

    /// Public URL of Plinth; by default `api.external_url`, else the IP address of this machine.
    pub const PUBLIC_URL: Key<Option<WrittenUrl>> = optional_url("plinth.public_url");

    /// Proxies (IP addresses or networks) whose `X-Forwarded-*` headers are trusted.
    pub const TRUSTED_PROXIES: Key<Vec<String>> = networks("plinth.trusted_proxies", &[]);

    /// Compress HTTP responses for clients that accept it.
    pub const COMPRESSION: Key<bool> = flag("plinth.compression", true);

    /// Folder of the built web application, instead of the embedded one.
    pub const WEB_DIR: Key<Option<PathBuf>> = optional_path("plinth.web_dir");

    /// Bearer token required for /metrics.
    pub const METRICS_TOKEN: Key<Option<Secret>> = secret("plinth.metrics_token");

    /// Retention of deleted projects: how long they can be restored.
    pub const TRASH: Key<Duration> = duration("plinth.trash", "168h");

    /// Whether operators need a second factor. `optional` is for `plinth start` on loopback without a public
    /// URL, where nobody else can reach the server: then only those who have one need it.
    pub const OPERATORS_MFA: Key<String> =
        choice("plinth.operators.mfa", &["required", "optional"], "required");

    /// Certificate chain (PEM) for HTTPS.
    pub const TLS_CERT_FILE: Key<Option<PathBuf>> = optional_path("plinth.tls.cert_file");

    /// Private key (PEM) of the certificate.
    pub const TLS_KEY_FILE: Key<Option<PathBuf>> = optional_path("plinth.tls.key_file");

    /// Maximum size of a request body; uploads of files have their own limit.
    pub const LIMITS_MAX_BODY: Key<ByteSize> = bytes("plinth.limits.max_body", "50MiB");

    /// Maximum size of the request headers.
    pub const LIMITS_MAX_HEADER: Key<ByteSize> = bytes("plinth.limits.max_header", "64KiB");

    /// Timeout until a response begins.
    pub const LIMITS_REQUEST_TIMEOUT: Key<Duration> =
        duration("plinth.limits.request_timeout", "60s");

    /// Grace period for requests in flight at shutdown.
    pub const LIMITS_DRAIN: Key<Duration> = duration("plinth.limits.drain", "30s");

    /// Connection URL of an external PostgreSQL, used instead of the managed one.
    pub const DATABASE_URL: Key<Option<Secret>> = secret("plinth.database.url");

    /// IP address of the database port. Unset: that of the API (`plinth.host`); with `plinth serve` and
    /// without TLS 127.0.0.1, because passwords and data would cross the network in the clear.
    pub const DATABASE_HOST: Key<Option<String>> = optional_text("plinth.database.host");

    /// Folder of the PostgreSQL binaries.
    pub const DATABASE_BIN_DIR: Key<Option<PathBuf>> = optional_path("plinth.database.bin_dir");

    /// Further PostgreSQL parameters (`postgresql.conf`) of the managed server.
    pub const DATABASE_SETTINGS: Key<BTreeMap<String, String>> = table("plinth.database.settings");

    /// Maximum number of connections of a project's owner over the database port of the managed
    /// server; by default a fifth of `max_connections`.
    pub const DATABASE_OWNER_CONNECTIONS: Key<Option<u32>> =
        optional_integer("plinth.database.owner_connections", AT_LEAST_ONE);

    /// Give each new project a PostgreSQL server of its own, unless its creation says otherwise: for
    /// projects whose owners do not trust each other.
    pub const ISOLATION_DEFAULT: Key<bool> = flag("plinth.isolation.default", false);

    /// Maximum number of isolated projects whose PostgreSQL servers run at once. Requests to further ones
    /// wait up to 10 s until another one is idle, and fail with 503.
    pub const ISOLATION_MAX_RUNNING: Key<usize> =
        integer("plinth.isolation.max_running", AT_LEAST_ONE, 64);

    /// PostgreSQL parameters (`postgresql.conf`) of the servers of isolated projects.
    pub const ISOLATION_SETTINGS: Key<BTreeMap<String, String>> = table("plinth.isolation.settings");

    /// Maximum number of pooled database connections per project and role.
    pub const POOL_SIZE: Key<usize> = integer("plinth.pool.size", AT_LEAST_ONE, 10);

    /// Timeout for acquiring a connection from the pool.
    pub const POOL_ACQUIRE_TIMEOUT: Key<Duration> = duration("plinth.pool.acquire_timeout", "10s");

    /// Maximum lifetime of a pooled connection.
    pub const POOL_MAX_LIFETIME: Key<Duration> = duration("plinth.pool.max_lifetime", "30m");

    /// Idle timeout of a pooled connection.
    pub const POOL_IDLE_TIMEOUT: Key<Duration> = duration("plinth.pool.idle_timeout", "30s");

    /// Idle timeout of a project: all its connections close after this time without a request.
    pub const POOL_PROJECT_IDLE: Key<Duration> = duration("plinth.pool.project_idle", "5m");

    /// Maximum size of the log store per source; the oldest records are deleted.
    pub const LOGS_MAX_BYTES: Key<ByteSize> = bytes("plinth.logs.max_bytes", "64MiB");

    /// Retention of log records.
    pub const LOGS_MAX_AGE: Key<Duration> = duration("plinth.logs.max_age", "168h");

    /// Size at which a log segment file is rotated.
    pub const LOGS_SEGMENT_BYTES: Key<ByteSize> = bytes("plinth.logs.segment_bytes", "4MiB");
}
