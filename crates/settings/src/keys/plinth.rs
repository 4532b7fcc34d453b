//! `[plinth]`: the program itself.

use super::AT_LEAST_ONE;
use crate::key::{
    Key, bytes, duration, flag, integer, networks, optional_path, optional_text, optional_url,
    secret, table, text,
};

pub(super) const KEYS: &[Key] = &[
    text(
        "plinth.host",
        "127.0.0.1",
        "Address to listen on; 0.0.0.0 or :: for all.",
    ),
    optional_text(
        "plinth.domain",
        "Domain below which each project has a host, <ref>.<domain>.",
    ),
    optional_url(
        "plinth.public_url",
        "URL under which the outside world reaches Plinth; by default api.external_url, else the \
         IP address of this machine.",
    ),
    networks(
        "plinth.trusted_proxies",
        &[],
        "Proxies whose forwarding headers tell the client's address.",
    ),
    flag(
        "plinth.compression",
        true,
        "Compress answers for clients that accept it.",
    ),
    optional_path(
        "plinth.web_dir",
        "Folder of the built web pages, instead of those in the program.",
    ),
    secret("plinth.metrics_token", "Token that /metrics asks for."),
    duration(
        "plinth.trash",
        "168h",
        "Time that a deleted project can be restored.",
    ),
    optional_path("plinth.tls.cert_file", "Certificate chain (PEM) for HTTPS."),
    optional_path(
        "plinth.tls.key_file",
        "Private key (PEM) of the certificate.",
    ),
    bytes(
        "plinth.limits.max_body",
        "50MiB",
        "Largest request body outside file uploads.",
    ),
    bytes("plinth.limits.max_header", "64KiB", "Largest request head."),
    duration(
        "plinth.limits.request_timeout",
        "60s",
        "Longest time to answer a request.",
    ),
    duration(
        "plinth.limits.drain",
        "30s",
        "Time that open requests get at shutdown.",
    ),
    secret(
        "plinth.database.url",
        "External PostgreSQL to use instead of the managed one.",
    ),
    optional_path(
        "plinth.database.bin_dir",
        "Folder of the PostgreSQL programs.",
    ),
    table(
        "plinth.database.settings",
        "Further PostgreSQL settings of the managed server.",
    ),
    integer(
        "plinth.pool.size",
        AT_LEAST_ONE,
        10,
        "Database connections per project and role.",
    ),
    duration(
        "plinth.pool.acquire_timeout",
        "10s",
        "Longest wait for a free connection.",
    ),
    duration(
        "plinth.pool.max_lifetime",
        "30m",
        "Age at which a connection is replaced.",
    ),
    duration(
        "plinth.pool.idle_timeout",
        "30s",
        "Idle time after which a connection closes.",
    ),
    duration(
        "plinth.pool.project_idle",
        "5m",
        "Idle time after which a project's connections all close.",
    ),
    bytes(
        "plinth.logs.max_bytes",
        "64MiB",
        "Most log data kept per source.",
    ),
    duration(
        "plinth.logs.max_age",
        "168h",
        "Age at which log data is deleted.",
    ),
    bytes(
        "plinth.logs.segment_bytes",
        "4MiB",
        "Size at which a log file is closed.",
    ),
];
