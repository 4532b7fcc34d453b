//! Binding a listener, with an error that says what to do.

use std::{io, net::SocketAddr, path::PathBuf};

use tokio::net::TcpListener;

/// A listener cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program listens there.
    #[error(
        "port {} is already in use on {}: stop the program that uses it, or choose another port \
         (`--port auto` takes a free one)",
        .0.port(), .0.ip()
    )]
    PortInUse(SocketAddr),
    /// The user may not bind this port.
    #[error(
        "port {} may not be used by this account: choose one above 1023, or grant the right to \
         bind low ports",
        .0.port()
    )]
    PortForbidden(SocketAddr),
    /// The address does not belong to this machine.
    #[error("{0} is no address of this machine: choose 127.0.0.1, or 0.0.0.0 for all")]
    NotOurAddress(std::net::IpAddr),
    /// Anything else about a port.
    #[error("cannot listen on {0}: {1}")]
    Port(SocketAddr, #[source] io::Error),
    /// Another process listens on the socket.
    #[error("another plinth is already running here: it listens on {0}")]
    SocketInUse(PathBuf),
    /// The path exists and is no socket.
    #[error("{0} is in the way: it is no socket; move it elsewhere and start again")]
    NotASocket(PathBuf),
    /// The system allows about a hundred bytes for a socket's path.
    #[error("the path {0} is too long for a socket: use a folder with a shorter path")]
    PathTooLong(PathBuf),
    /// Anything else about a socket.
    #[error("cannot make the socket {0}: {1}")]
    Socket(PathBuf, #[source] io::Error),
}

/// Listens on the address; port 0 takes a free one.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => BindError::PortInUse(address),
            io::ErrorKind::PermissionDenied => BindError::PortForbidden(address),
            io::ErrorKind::AddrNotAvailable => BindError::NotOurAddress(address.ip()),
            _ => BindError::Port(address, error),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_busy_port_is_an_error_of_one_sentence() {
        let first = bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = first.local_addr().expect("its address");

        let error = bind(address).await.expect_err("taken");

        let port = address.port();
        assert!(
            error
                .to_string()
                .starts_with(&format!("port {port} is already in use on 127.0.0.1"))
        );
    }

    #[tokio::test]
    async fn a_foreign_address_has_its_own_error() {
        let error = bind(([192, 0, 2, 1], 0).into())
            .await
            .expect_err("not ours");

        assert!(matches!(error, BindError::NotOurAddress(_)), "{error}");
    }
}
