//! `[edge_runtime]`: how functions run.

use std::collections::BTreeMap;

use crate::key::Key;
use crate::value::Secret;

keys! {
    /// Serve functions.
    pub const ENABLED: Key<bool> = flag("edge_runtime.enabled", true);

    /// How requests share workers: a new worker for each request (`oneshot`), one request at a
    /// time (`per_request`), or many concurrently (`per_worker`).
    pub const POLICY: Key<String> =
        choice("edge_runtime.policy", &["oneshot", "per_request", "per_worker"], "per_worker");

    /// Port of the debugger (V8 inspector).
    pub const INSPECTOR_PORT: Key<u16> = listen_port("edge_runtime.inspector_port", 8083).inert();

    /// Major version of Deno; Deno 2 is used for both.
    pub const DENO_VERSION: Key<u64> = integer("edge_runtime.deno_version", (1, 2), 2).inert();

    /// Environment variables of all functions.
    pub const SECRETS: Key<BTreeMap<String, Secret>> = secret_table("edge_runtime.secrets");
}
