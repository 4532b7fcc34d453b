//! `[plinth.functions]`: limits and times of functions.

use std::path::PathBuf;
use std::time::Duration;

use super::AT_LEAST_ONE;
use crate::key::Key;
use crate::value::{ByteSize, WrittenUrl};

keys! {
    /// Honour `verify_jwt` of the folder's functions; if false, none of them requires a token.
    pub const VERIFY_JWT: Key<bool> = flag("plinth.functions.verify_jwt", true);

    /// File with environment variables of the folder's functions; by default `functions/.env`.
    pub const ENV_FILE: Key<Option<PathBuf>> = optional_path("plinth.functions.env_file");

    /// Import map that overrides those of all functions in the folder.
    pub const IMPORT_MAP: Key<Option<PathBuf>> = optional_path("plinth.functions.import_map");

    /// Add the header `x-relay-error` to responses that reject a token.
    pub const RELAY_ERROR_HEADER: Key<bool> = flag("plinth.functions.relay_error_header", false);

    /// Value of `SB_REGION` in functions.
    pub const REGION: Key<String> = text("plinth.functions.region", "local");

    /// Base URL of Plinth for functions (`SUPABASE_URL`); by default an address of this machine.
    pub const INTERNAL_URL: Key<Option<WrittenUrl>> = optional_url("plinth.functions.internal_url");

    /// Private networks that functions may connect to, besides Plinth and its database. IPv6 is
    /// enabled only if the list contains an IPv6 network.
    pub const REACHABLE_NETWORKS: Key<Vec<String>> =
        networks("plinth.functions.reachable_networks", &[]);

    /// Ports that functions may not connect to, at any address; by default those of SMTP.
    pub const DENIED_PORTS: Key<Vec<u16>> =
        ports("plinth.functions.denied_ports", &["25", "587"]);

    /// Idle workers kept per function. They are evicted when other functions need a place below
    /// `max_workers_total`.
    pub const MIN_WORKERS: Key<usize> = integer("plinth.functions.min_workers", (0, 64), 0);

    /// Maximum number of workers per function; by default one per core.
    pub const MAX_WORKERS: Key<Option<usize>> =
        optional_integer("plinth.functions.max_workers", AT_LEAST_ONE);

    /// Maximum number of workers of all functions together; by default eight per core.
    pub const MAX_WORKERS_TOTAL: Key<Option<usize>> =
        optional_integer("plinth.functions.max_workers_total", AT_LEAST_ONE);

    /// Prewarmed processes per project, kept while its functions are in use, to shorten cold
    /// starts.
    pub const PREWARMED_PROCESSES: Key<usize> = integer("plinth.functions.prewarmed_processes", (0, 16), 1);

    /// Idle timeout of a worker.
    pub const WORKER_IDLE: Key<Duration> = duration("plinth.functions.worker_idle", "5m");

    /// Memory limit of a worker; it is killed beyond it.
    pub const MEMORY: Key<ByteSize> = bytes("plinth.functions.memory", "256MiB");

    /// Size limit of a worker's `/tmp`, which is in memory; the limit of each single file where a
    /// worker has no `/tmp` of its own.
    pub const TEMPORARY_FILES: Key<ByteSize> = bytes("plinth.functions.temporary_files", "256MiB");

    /// CPU time limit of a request. While a worker has several requests in flight, it is killed
    /// only if its event loop is blocked.
    pub const CPU: Key<Duration> = duration("plinth.functions.cpu", "2s");

    /// Timeout of a request, and of background work after its response.
    pub const WALL_CLOCK: Key<Duration> = duration("plinth.functions.wall_clock", "400s");

    /// Maximum lifetime of a worker; it gets no new requests after half of it.
    pub const WORKER_LIFETIME: Key<Option<Duration>> =
        optional_duration("plinth.functions.worker_lifetime");

    /// Timeout until a response begins, and between its chunks.
    pub const REQUEST_IDLE: Key<Duration> = duration("plinth.functions.request_idle", "150s");

    /// Maximum time that a request is queued for a worker.
    pub const WAIT_TIMEOUT: Key<Duration> = duration("plinth.functions.wait_timeout", "10s");

    /// Timeout for a worker to become ready after it is spawned.
    pub const BOOT_TIMEOUT: Key<Duration> = duration("plinth.functions.boot_timeout", "10s");

    /// Grace period of a worker that is shut down, before it is killed.
    pub const GRACEFUL_EXIT: Key<Duration> = duration("plinth.functions.graceful_exit", "15s");

    /// Maximum size of a request body.
    pub const MAX_BODY: Key<ByteSize> = bytes("plinth.functions.max_body", "50MiB");

    /// Number of deployed versions kept per function, for rollbacks.
    pub const VERSIONS: Key<i64> = integer("plinth.functions.versions", AT_LEAST_ONE, 10);
}
