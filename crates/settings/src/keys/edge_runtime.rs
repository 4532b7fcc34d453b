//! `[edge_runtime]`: how functions run.

use crate::key::{Key, choice, flag, integer, listen_port, secret_table};

pub(super) const KEYS: &[Key] = &[
    flag("edge_runtime.enabled", true, "Serve functions."),
    choice(
        "edge_runtime.policy",
        &["oneshot", "per_request", "per_worker"],
        "per_worker",
        "Start a worker for each request, keep it for one request after the other, or for many at once.",
    ),
    listen_port("edge_runtime.inspector_port", 8083, "Port of the debugger."),
    integer(
        "edge_runtime.deno_version",
        (1, 2),
        2,
        "Major version of Deno; 2 runs for both.",
    ),
    secret_table(
        "edge_runtime.secrets",
        "Variables that all functions receive.",
    ),
];
