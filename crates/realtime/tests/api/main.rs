//! The service over real sockets and a real database, as frames show it.

mod channels;
mod frames;
mod handshake;
mod limits;
mod private;
mod support;
