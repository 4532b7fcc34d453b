//! A TCP listener, with PostgREST's special host names, or a unix socket.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use axum::{Router, extract::connect_info::Connected, serve::IncomingStream};
use plinth_rest::{ListenAddress, UnixSocket};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, Kind, Outcome};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 2048;

/// An open listener.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// The client's address; none on a unix socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) Option<IpAddr>);

impl Listener {
    pub(super) async fn bind(place: &ListenAddress, reuse_port: bool) -> Outcome<Self> {
        match place {
            ListenAddress::Unix(socket) => Self::bind_unix(socket),
            ListenAddress::Tcp { host, port } => {
                let mut failure = None;
                for address in addresses(host, *port).await? {
                    match bind_tcp(address, reuse_port) {
                        Ok(listener) => return Ok(Self::Tcp(listener)),
                        Err(error) => failure = failure.or(Some(bind_failure(address, &error))),
                    }
                }
                Err(failure.unwrap_or_else(|| {
                    Failure::usage(format!("server-host: {host:?} has no address"))
                }))
            }
        }
    }

    /// Replaces an existing file, as PostgREST does.
    fn bind_unix(socket: &UnixSocket) -> Outcome<Self> {
        let UnixSocket { path, mode } = socket;
        let bind = || {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = UnixListener::bind(path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(*mode))?;
            Ok(listener)
        };
        match bind() {
            Ok(listener) => Ok(Self::Unix(listener, path.clone())),
            Err(error) => Err(Failure::new(
                Kind::Failure,
                format!("the socket {} cannot be made: {error}", path.display()),
            )),
        }
    }

    /// Address or path, for log lines.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Tcp(listener) => listener
                .local_addr()
                .map_or_else(|error| error.to_string(), |address| address.to_string()),
            Self::Unix(_, path) => path.display().to_string(),
        }
    }

    /// The path, if it is a unix socket.
    pub(super) fn socket_path(&self) -> Option<PathBuf> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(_, path) => Some(path.clone()),
        }
    }

    /// Serves until `shutdown`, then drains requests in flight until `abort`.
    pub(super) async fn serve(
        self,
        router: Router,
        shutdown: CancellationToken,
        abort: CancellationToken,
    ) -> io::Result<()> {
        let path = self.socket_path();
        let served = self.serve_until(router, shutdown);
        let served = abort.run_until_cancelled(served).await.unwrap_or(Ok(()));
        if let Some(path) = path {
            _ = fs::remove_file(path);
        }
        served
    }

    async fn serve_until(self, router: Router, shutdown: CancellationToken) -> io::Result<()> {
        let router = router.into_make_service_with_connect_info::<Peer>();
        let shutdown = shutdown.cancelled_owned();
        match self {
            Self::Tcp(listener) => {
                axum::serve(NoDelayListener(listener), router)
                    .with_graceful_shutdown(shutdown)
                    .await
            }
            Self::Unix(listener, _) => {
                axum::serve(listener, router)
                    .with_graceful_shutdown(shutdown)
                    .await
            }
        }
    }
}

/// Sets TCP_NODELAY: responses are written in one piece, and Nagle's algorithm would delay them.
struct NoDelayListener(TcpListener);

impl axum::serve::Listener for NoDelayListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.0).await;
        _ = stream.set_nodelay(true);
        (stream, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, NoDelayListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, NoDelayListener>) -> Self {
        Self(Some(stream.remote_addr().ip().to_canonical()))
    }
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(_stream: IncomingStream<'_, UnixListener>) -> Self {
        Self(None)
    }
}

fn bind_tcp(address: SocketAddr, reuse_port: bool) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(reuse_port)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// In the order in which they are tried.
async fn addresses(host: &str, port: u16) -> Outcome<Vec<SocketAddr>> {
    let (v4, v6) = (
        IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::from(Ipv6Addr::UNSPECIFIED),
    );
    let any = match host {
        "!4" => vec![v4],
        "*" | "*4" => vec![v4, v6],
        "!6" => vec![v6],
        "*6" => vec![v6, v4],
        name => {
            let found = tokio::net::lookup_host((name, port))
                .await
                .map_err(|error| {
                    Failure::usage(format!("server-host: {name:?} cannot be found: {error}"))
                })?;
            return Ok(found.collect());
        }
    };
    Ok(any
        .into_iter()
        .map(|ip| SocketAddr::new(ip, port))
        .collect())
}

fn bind_failure(address: SocketAddr, error: &io::Error) -> Failure {
    let message = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "port {} is already in use on {}",
                address.port(),
                address.ip()
            )
        }
        _ => format!("cannot listen on {address}: {error}"),
    };
    Failure::new(Kind::Failure, message).next_step(
        "Choose another with PGRST_SERVER_HOST and PGRST_SERVER_PORT (or server-port in the file).",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn special_hosts_are_all_addresses_of_a_family() {
        let check = async |host: &str, expected: &[&str]| {
            let found = addresses(host, 3000).await.expect("addresses");
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{host}");
        };

        check("!4", &["0.0.0.0:3000"]).await;
        check("*4", &["0.0.0.0:3000", "[::]:3000"]).await;
        check("*", &["0.0.0.0:3000", "[::]:3000"]).await;
        check("!6", &["[::]:3000"]).await;
        check("*6", &["[::]:3000", "0.0.0.0:3000"]).await;
        check("127.0.0.1", &["127.0.0.1:3000"]).await;
        check("::1", &["[::1]:3000"]).await;
    }

    #[tokio::test]
    async fn a_busy_port_is_an_error_of_one_sentence() {
        let host = "127.0.0.1".to_owned();
        let free = ListenAddress::Tcp {
            host: host.clone(),
            port: 0,
        };
        let Ok(Listener::Tcp(first)) = Listener::bind(&free, false).await else {
            panic!("a free port");
        };
        let port = first.local_addr().expect("its address").port();

        let second = Listener::bind(&ListenAddress::Tcp { host, port }, false).await;

        let failure = second.err().expect("taken").to_string();
        assert_eq!(
            failure,
            format!("port {port} is already in use on 127.0.0.1")
        );
    }
}
