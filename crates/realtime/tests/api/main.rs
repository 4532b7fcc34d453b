//! The service over real sockets and a real database, as frames show it.

mod changes;
mod channels;
mod database_messages;
mod frames;
mod handshake;
mod health;
mod limits;
mod metrics;
mod nodes;
mod over_http;
mod private;
mod support;
mod tokens;
