//! The realtime service, mounted at `/realtime/v1`: broadcast, presence and row changes (realtime
//! contract). The crate's README has a table of the modules and the way of a row change through them.
//!
//! Imports go in one direction: `protocol`, `changes` and `metrics` at the bottom, then `topics`,
//! `cluster` and `subscriptions`, then the per-project `hub`, then `delivery` and `stream`, then
//! `channel` and `socket`, and `routes` at the top.

mod authorize;
mod caller_role;
pub mod changes;
mod channel;
mod clock;
mod cluster;
mod commit_visibility;
mod config;
mod delivery;
mod error_reference;
mod http;
mod hub;
mod identity;
mod metrics;
mod outbound_queue;
mod protocol;
mod rate;
mod replay;
mod routes;
pub mod schema;
mod service;
mod socket;
mod stream;
mod stream_status;
mod subscriptions;
mod topics;
mod usage;

pub use self::metrics::describe_metrics;
pub use cluster::{Cluster, ClusterConfig, ClusterError};
pub use config::RealtimeConfig;
pub use error_reference::error_reference;
pub use routes::{is_open_route, routes, socket_routes};
pub use service::RealtimeService;
pub use stream::drop_orphaned_slots;
