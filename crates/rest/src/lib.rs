//! The REST service, mounted at `/rest/v1`: PostgREST's protocol over a project's tables, views
//! and functions (rest contract).
//!
//! `handler` takes a request through five stages: `request` parses it, `plan` resolves its names in
//! the schema cache, `sql` writes the statement with its parameters, `execute` runs one transaction
//! as the caller, `response` makes status, headers and body. The first three are pure.

mod auth;
mod config;
mod error;
mod execute;
mod handler;
mod metrics;
mod openapi;
mod plan;
mod request;
mod response;
mod routes;
pub mod schema;
mod schema_cache;
mod service;
mod snapshot;
mod sql;
mod timing;

pub use self::metrics::{describe_metrics, describe_standalone_metrics};
pub use config::{ListenAddress, LogLevel, PostgrestConfig, RestConfig, ServerConfig, UnixSocket};
pub use error::{RangeProblem, RestError, error_reference};
pub use routes::routes;
pub use service::RestService;
