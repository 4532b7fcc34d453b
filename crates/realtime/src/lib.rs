//! The realtime service, mounted at `/realtime/v1`: broadcast, presence and row changes (realtime
//! contract).
//!
//! A socket is a task that reads frames (`protocol`) and keeps channels; a channel is a member of a
//! room (`rooms`), where everything is said that several are to hear. `authorize` asks the database
//! who may; `http` lets servers speak without a socket.

mod authorize;
pub mod changes;
mod channel;
mod clock;
mod config;
mod http;
mod hub;
mod identity;
mod protocol;
mod rate;
mod replay;
mod rooms;
mod routes;
pub mod schema;
mod service;
mod socket;

pub use config::RealtimeConfig;
pub use routes::routes;
pub use service::RealtimeService;
