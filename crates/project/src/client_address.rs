//! Who sent a request.

use std::net::{IpAddr, SocketAddr};

/// The address of whoever sent the request; an extension of every request.
///
/// Limits and records go by `ip`. Forwarding headers are taken into account already, and only
/// when a trusted proxy sent them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress {
    /// The client's own address.
    pub ip: IpAddr,
    /// The other end of the connection: the client, or the last proxy.
    pub peer: IpAddr,
}

/// Which of our own addresses the request came to; an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddress(pub SocketAddr);
