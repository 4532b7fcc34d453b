//! The realtime service, mounted at `/realtime/v1`: broadcast, presence and row changes (realtime
//! contract).
//!
//! A socket is a task that reads frames (`protocol`) and keeps channels; a channel is a member of a
//! room (`rooms`), where everything is said that several are to hear. `authorize` asks the database
//! who may; `http` lets servers speak without a socket. `stream` follows the database's log, which
//! has messages of its own and the `changes` of rows; `subscriptions` knows who wants to hear of
//! them, and `delivery` finds out who may. With a `cluster`, all of it reaches other nodes.

mod assume;
mod authorize;
pub mod changes;
mod channel;
mod clock;
mod cluster;
mod config;
mod delivery;
mod http;
mod hub;
mod identity;
mod numbers;
mod protocol;
mod rate;
mod replay;
mod rooms;
mod routes;
pub mod schema;
mod service;
mod socket;
mod stream;
mod subscriptions;

pub use cluster::{Cluster, ClusterConfig, ClusterError};
pub use config::RealtimeConfig;
pub use numbers::describe_metrics;
pub use routes::{routes, socket_routes};
pub use service::RealtimeService;
pub use stream::sweep_slots;
