//! Addresses of a connection.

use std::net::{IpAddr, SocketAddr};

/// The client's address; an extension of every request.
///
/// Rate limits and records use `ip`. Forwarding headers of trusted proxies are taken into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress {
    /// The client's own address.
    pub ip: IpAddr,
    /// The other end of the connection: the client, or the last proxy.
    pub peer: IpAddr,
    /// Whether the peer sent forwarding headers, trusted or not. Then it is probably a proxy, and a
    /// loopback address says nothing about the client.
    pub is_forwarded: bool,
}

/// Our own address of the connection; an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddress(pub SocketAddr);
