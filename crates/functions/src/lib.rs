//! The functions service, mounted at `/functions/v1`: users' code on Deno (functions contract).
//!
//! `catalog` knows which functions a project has: those of the folder that Plinth was started in, and
//! those that were deployed. `deno` finds the runtime and makes sources ready to start without a
//! network. A `worker` is one process that serves one function over a unix socket; a `pool` keeps a
//! function's workers, and `invoke` takes a request to one of them and its answer back.

mod catalog;
mod clock;
mod config;
mod deno;
mod error;
mod invoke;
mod network;
mod numbers;
mod pool;
mod record;
mod refused_calls;
mod routes;
mod scratch;
mod service;
mod spawner;
mod verify;
mod worker;

pub use config::FunctionsConfig;
pub use deno::Deno;
pub use numbers::describe_metrics;
pub use routes::routes;
pub use service::{FunctionsParts, FunctionsService};
