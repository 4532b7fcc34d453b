//! The functions service, mounted at `/functions/v1`: users' code on Deno (functions contract).
//!
//! `invoke` takes a request to a worker and its response back. A `worker` is one process that serves one
//! function over a unix socket; a `pool` has the workers of one function. `catalog` knows which functions a
//! project has, `deno` prepares and starts the runtime in the `sandbox`, and `service` ties them together.
//! The README has the invariants.

mod account;
mod accounts;
mod catalog;
mod clock;
mod code;
mod config;
mod deno;
mod error;
mod function_log;
mod invoke;
mod log_rate;
mod metrics;
mod network;
mod pool;
mod routes;
mod sandbox;
mod service;
mod usage;
mod verify;
mod worker;

pub use crate::metrics::describe_metrics;
pub use accounts::UserTable;
pub use config::FunctionsConfig;
pub use deno::Deno;
pub use error::error_reference;
pub use routes::routes;
pub use service::{FunctionsParts, FunctionsService};
