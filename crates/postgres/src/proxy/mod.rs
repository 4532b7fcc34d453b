//! The database proxy (console contract F50): reads the start-up packet of each connection, lets a
//! [`Route`] rewrite its user and database, and passes everything after it through to the server's
//! private socket, except for statements that the [`Route`] rewrites. SCRAM works unchanged, because
//! the server takes the user from the packet. Failed logins are logged and reported with a growing
//! delay; TLS ends here.
//!
//! It pools no connections, and it knows no projects: mapping names to them is the [`Route`]'s job.

mod connection;
mod error_response;
mod failed_logins;
mod login;
mod packet;
mod pending_logins;
mod relay;

use std::any::Any;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::{TlsAcceptor, rustls};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use connection::{Connection, Port};
pub use error_response::{ErrorResponse, Sqlstate};
use failed_logins::FailedLogins;
pub use packet::{Packet, PacketError, Parameter, Startup};
use pending_logins::PendingLogins;

use crate::error::plain;

/// Above the server's `max_connections`, so that the server itself reports the limit.
const DEFAULT_MAX_CONNECTIONS: u32 = 500;
/// Delay after a failed accept, such as too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Maps the user and database of a start-up packet to those of the server.
pub trait Route: Send + Sync + 'static {
    /// Called once per connection; must not block. An error is sent to the client.
    fn route(&self, user: &str, database: &str) -> Result<Routed, ErrorResponse>;

    /// The server that has this database; `None` for the one that the proxy was opened for. May wait
    /// until it has started.
    fn server<'a>(&'a self, _routed: &'a Routed) -> OtherServerFuture<'a> {
        Box::pin(async { Ok(None) })
    }

    /// The sockets of other servers that run. A cancel request does not say which one it is for.
    fn other_sockets(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Another text for the server in place of the SQL that a client sends, one or more statements.
    /// Called for each; `None` leaves it as it is.
    fn rewrite(&self, _sql: &str) -> Option<String> {
        None
    }
}

/// The user and database to ask the server for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    pub user: String,
    pub database: String,
}

/// A server beside the one that the proxy was opened for.
pub struct OtherServer {
    pub socket: PathBuf,
    /// How many connections it takes, instead of the proxy's limit.
    pub limit: ConnectionLimit,
    /// Held for as long as the connection is open.
    pub lease: Box<dyn Any + Send + Sync>,
}

/// The result of [`Route::server`].
pub type OtherServerFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<OtherServer>, ErrorResponse>> + Send + 'a>>;

/// Why the port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseProxyError {
    #[error(
        "Port {} is already in use, so the database cannot listen there. Stop the program that \
         uses it, or choose another database port.", .address.port()
    )]
    PortInUse { address: SocketAddr },
    #[error("The database cannot listen on {address}: {reason}.")]
    CannotListen { address: SocketAddr, reason: String },
}

/// The open port, not serving yet.
#[derive(Debug)]
pub struct DatabaseProxy {
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    limit: ConnectionLimit,
    untrusted_address: Option<IpAddr>,
}

/// How many connections may be open at once; cloned to several proxies it holds for all together.
#[derive(Debug, Clone)]
pub struct ConnectionLimit(Arc<Semaphore>);

impl ConnectionLimit {
    /// At most this many.
    pub fn new(max_connections: u32) -> Self {
        let permits = usize::try_from(max_connections).unwrap_or(usize::MAX);
        Self(Arc::new(Semaphore::new(
            permits.min(Semaphore::MAX_PERMITS),
        )))
    }

    fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        self.0.clone().try_acquire_owned().ok()
    }
}

impl DatabaseProxy {
    /// Opens the port; port 0 takes a free one.
    pub async fn bind(address: SocketAddr) -> Result<Self, DatabaseProxyError> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|cause| match cause.kind() {
                io::ErrorKind::AddrInUse => DatabaseProxyError::PortInUse { address },
                _ => DatabaseProxyError::CannotListen {
                    address,
                    reason: plain(&cause),
                },
            })?;
        Ok(Self {
            listener,
            limit: ConnectionLimit::new(DEFAULT_MAX_CONNECTIONS),
            tls: None,
            untrusted_address: None,
        })
    }

    /// Offers TLS, and requires it of clients on other machines.
    #[must_use]
    pub fn with_tls(mut self, config: Arc<rustls::ServerConfig>) -> Self {
        self.tls = Some(config);
        self
    }

    /// Logins beyond the limit are rejected with an error; cancel requests do not count. It should be below the server's own,
    /// which counts connections before it knows their role.
    #[must_use]
    pub fn with_limit(mut self, limit: ConnectionLimit) -> Self {
        self.limit = limit;
        self
    }

    /// Clients that connect to this address of the machine are bounded before they have logged in as a
    /// network of other machines is, all together: they may be code of users.
    #[must_use]
    pub fn with_untrusted_address(mut self, address: Option<IpAddr>) -> Self {
        self.untrusted_address = address;
        self
    }

    /// The bound address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves connections until `shutdown`, then closes those that are open and returns.
    pub async fn serve(self, router: Arc<dyn Route>, socket: PathBuf, shutdown: CancellationToken) {
        let tasks = TaskTracker::new();
        let port = Arc::new(Port {
            router,
            socket: socket.into(),
            limit: self.limit,
            tls: self.tls.map(TlsAcceptor::from),
            failed_logins: FailedLogins::default(),
            pending_logins: PendingLogins::default(),
        });
        while let Some(accepted) = shutdown.run_until_cancelled(self.listener.accept()).await {
            let (client, peer) = match accepted {
                Ok((client, peer)) => (client, peer.ip()),
                Err(cause) => {
                    tracing::warn!(error = %cause, "cannot accept a database connection: {cause}");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            let (peer, pending_login) = match self.untrusted_address {
                Some(address) if is_connected_to(&client, address) => {
                    (address, port.pending_logins.enter_untrusted(address))
                }
                _ => (peer, port.pending_logins.enter(peer)),
            };
            let Some(pending_login) = pending_login else {
                continue;
            };
            set_keepalive(&client);
            let port = port.clone();
            let work = async move {
                let connection = Connection {
                    port: &port,
                    peer,
                    pending_login,
                };
                connection.serve(client).await;
            };
            let shutdown = shutdown.clone();
            tasks.spawn(async move { shutdown.run_until_cancelled(work).await });
        }
        tasks.close();
        tasks.wait().await;
    }
}

fn is_connected_to(client: &TcpStream, address: IpAddr) -> bool {
    let local = client.local_addr();
    local.is_ok_and(|local| local.ip().to_canonical() == address)
}

/// Enables TCP keep-alive: a client that vanished would hold a server connection for ever.
fn set_keepalive(client: &TcpStream) {
    use rustix::net::sockopt;
    _ = client.set_nodelay(true);
    _ = sockopt::set_socket_keepalive(client, true);
    #[cfg(target_os = "linux")]
    {
        _ = sockopt::set_tcp_keepidle(client, Duration::from_secs(60));
        _ = sockopt::set_tcp_keepintvl(client, Duration::from_secs(15));
        _ = sockopt::set_tcp_keepcnt(client, 4);
    }
}
