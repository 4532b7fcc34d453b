//! The REST service, mounted at `/rest/v1`: PostgREST's protocol over a project's tables, views
//! and functions (rest contract).
//!
//! A request passes four steps, each pure where it can be: `request` (text to meaning), `plan`
//! (names looked up, joins chosen), `sql` (statement and parameters), then one transaction as
//! the caller, whose answer `response` clothes in status and headers.

mod auth;
mod config;
mod describe;
mod error;
mod execute;
mod numbers;
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
mod sqlstate;
mod timing;

pub use config::{LogLevel, Place, PostgrestConfig, RestConfig, ServerConfig, Socket};
pub use error::{RangeProblem, RestError};
pub use numbers::describe_metrics;
pub use routes::routes;
pub use service::RestService;
