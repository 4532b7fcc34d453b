//! The database port (console contract F50): reads the start-up packet of each connection, lets a
//! [`Route`] rewrite its user and database, and passes everything after it through to the server's
//! private socket. SCRAM works unchanged, because the server takes the user from the packet.
//!
//! It neither offers TLS nor pools connections, and it knows no projects: those are the router's.

mod connection;
mod error_response;
mod packet;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use error_response::ErrorResponse;
pub use packet::{Packet, PacketError, Parameter, Startup};

use crate::error::plain;

/// More than the server accepts, so that it is usually the server that answers.
const DEFAULT_MAX_CONNECTIONS: usize = 500;
/// Clients beyond the limit that may still say what they want: to cancel something, or to be told
/// that there is no room.
const MAX_WAITING: usize = 64;
/// After a failure to accept, such as too many open files, others may finish first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Decides which user and database a client really gets.
pub trait Route: Send + Sync + 'static {
    /// Called once per connection; must not block. Pairs it does not know pass unchanged.
    fn route(&self, user: &str, database: &str) -> Routed;
}

/// The user and database to ask the server for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    pub user: String,
    pub database: String,
}

/// Why the port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum FrontDoorError {
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
pub struct FrontDoor {
    listener: TcpListener,
    max_connections: usize,
}

impl FrontDoor {
    /// Opens the port; port 0 takes a free one.
    pub async fn bind(address: SocketAddr) -> Result<Self, FrontDoorError> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|cause| match cause.kind() {
                io::ErrorKind::AddrInUse => FrontDoorError::PortInUse { address },
                _ => FrontDoorError::CannotListen {
                    address,
                    reason: plain(&cause),
                },
            })?;
        Ok(Self {
            listener,
            max_connections: DEFAULT_MAX_CONNECTIONS,
        })
    }

    /// How many connections may be open at once; one more is told so and closed.
    #[must_use]
    pub fn with_max_connections(mut self, max_connections: usize) -> Self {
        self.max_connections = max_connections;
        self
    }

    /// The address that was really taken.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves connections until `shutdown`, then closes those that are open and returns.
    pub async fn serve(self, router: Arc<dyn Route>, socket: PathBuf, shutdown: CancellationToken) {
        let tasks = TaskTracker::new();
        let free = Arc::new(Semaphore::new(self.max_connections));
        let waiting = Arc::new(Semaphore::new(MAX_WAITING));
        let socket: Arc<std::path::Path> = socket.into();
        while let Some(accepted) = shutdown.run_until_cancelled(self.listener.accept()).await {
            let client = match accepted {
                Ok((client, _)) => client,
                Err(cause) => {
                    tracing::warn!(error = %cause, "cannot accept a database connection: {cause}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let admitted = free.clone().try_acquire_owned();
            let is_admitted = admitted.is_ok();
            let Ok(place) = admitted.or_else(|_| waiting.clone().try_acquire_owned()) else {
                continue;
            };
            prepare(&client);
            let (router, socket, shutdown) = (router.clone(), socket.clone(), shutdown.clone());
            tasks.spawn(async move {
                let work = connection::serve(client, &*router, &socket, is_admitted);
                shutdown.run_until_cancelled(work).await;
                drop(place);
            });
        }
        tasks.close();
        tasks.wait().await;
    }
}

/// A client that vanished without a word would hold a connection of the server for ever.
fn prepare(client: &TcpStream) {
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
