//! The socket of a connection, and the endpoints it may connect to.

use std::{
    hash::{BuildHasher as _, RandomState},
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpSocket, TcpStream, UnixStream, lookup_host},
};
use tokio_postgres::{
    Config,
    config::{Host, LoadBalanceHosts},
};

const DEFAULT_PORT: u16 = 5432;

/// Bytes to and from a server.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// One of the servers in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    host: Host,
    /// The name that its certificate must have.
    pub(super) name: String,
    port: u16,
}

/// All of them, in the order in which to try them.
pub(super) fn endpoints(config: &Config) -> Vec<Endpoint> {
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let port = |i: usize| {
        let ports = config.get_ports();
        *ports
            .get(i)
            .or_else(|| ports.first())
            .unwrap_or(&DEFAULT_PORT)
    };
    let mut endpoints: Vec<Endpoint> = (0..hosts.len().max(addresses.len()))
        .filter_map(|i| {
            let address = addresses
                .get(i)
                .map(|address| Host::Tcp(address.to_string()));
            Some(Endpoint {
                host: address.or_else(|| hosts.get(i).cloned())?,
                name: match hosts.get(i) {
                    Some(Host::Tcp(name)) => name.clone(),
                    _ => String::new(),
                },
                port: port(i),
            })
        })
        .collect();
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random && !endpoints.is_empty() {
        let start = RandomState::new().hash_one(0) % endpoints.len() as u64;
        endpoints.rotate_left(start as usize);
    }
    endpoints
}

impl Socket {
    pub(super) async fn connect(endpoint: &Endpoint, config: &Config) -> io::Result<Self> {
        match &endpoint.host {
            Host::Unix(folder) => {
                let path = folder.join(format!(".s.PGSQL.{}", endpoint.port));
                let connecting = UnixStream::connect(path);
                Ok(Self::Unix(with_timeout(config, connecting).await?))
            }
            Host::Tcp(host) => {
                let mut failure = io::Error::other("the host has no address");
                for address in lookup_host((host.as_str(), endpoint.port)).await? {
                    match with_timeout(config, open(address, config.get_keepalives())).await {
                        Ok(stream) => return Ok(Self::Tcp(stream)),
                        Err(error) => failure = error,
                    }
                }
                Err(failure)
            }
        }
    }
}

async fn open(address: SocketAddr, keepalive: bool) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_keepalive(keepalive)?;
    socket.set_nodelay(true)?;
    socket.connect(address).await
}

async fn with_timeout<T>(
    config: &Config,
    connecting: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let limit = config.get_connect_timeout().copied();
    let limit = limit.unwrap_or(Duration::MAX);
    tokio::time::timeout(limit, connecting)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: &[(&str, u16)]) {
        let config: Config = url.parse().expect("a good URL");
        let endpoints = endpoints(&config);
        let found: Vec<_> = endpoints
            .iter()
            .map(|p| (p.name.as_str(), p.port))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_host_has_its_port() {
        check("postgresql://u@a/db", &[("a", 5432)]);
        check("postgresql://u@a:1,b:2/db", &[("a", 1), ("b", 2)]);
        check("host=a,b port=7 user=u", &[("a", 7), ("b", 7)]);
        check("host=/run/pg user=u", &[("", 5432)]);
    }

    #[test]
    fn an_address_says_where_and_the_name_whom() {
        let config: Config = "host=db.example hostaddr=192.0.2.1 user=u"
            .parse()
            .expect("a good configuration");
        let endpoints = endpoints(&config);
        assert_eq!(endpoints[0].host, Host::Tcp("192.0.2.1".to_owned()));
        assert_eq!(endpoints[0].name, "db.example");
    }
}
