//! Listeners and connections: HTTP/1.1 and HTTP/2 on one port, TLS if wanted, and an orderly end.

mod bind;
mod connections;
mod lingering;
mod patience;
mod protocol;
mod tls;
mod unix;

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use http::Request;
use hyper::{body::Incoming, service::service_fn};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;

pub use bind::{BindError, bind};
pub use connections::Drained;
pub use tls::{Tls, TlsError};
pub use unix::serve_unix;

use crate::{Gateway, Peer};
use connections::Connections;
use lingering::{Lingering, Unread};
use patience::{Impatient, Seat};
use protocol::Protocol;

/// A client that is admitted but does not finish the TLS handshake is dropped after this time.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long accepting rests when the system has no file left for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown`, then gives open requests `drain` to finish, and tells how many
/// connections had to be cut off. Upgraded connections belong to their service and are not waited
/// for.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    gateway: Gateway,
    shutdown: CancellationToken,
    drain: Duration,
) -> Drained {
    let connections = Connections::new(shutdown.clone());
    let protocol = Protocol::new(gateway.config());
    let seats = Arc::new(Semaphore::new(gateway.config().max_connections));
    let is_tls = tls.is_some();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &seats) => accepted,
        };
        let Some((stream, remote, permit)) = accepted else {
            continue;
        };
        let Ok(local) = stream.local_addr() else {
            continue;
        };
        let peer = Peer {
            remote,
            local,
            is_tls,
        };
        let seat = Seat::new(permit);
        let (tls, gateway, protocol) = (tls.clone(), gateway.clone(), protocol.clone());
        connections.spawn(|connection| async move {
            let patience = gateway.config().header_timeout;
            let unread = Unread::default();
            let bodies = unread.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let gateway = gateway.clone();
                let request = bodies.watch(request);
                async move { Ok::<_, Infallible>(gateway.handle(request, peer).await) }
            });
            match tls {
                None => {
                    let stream = Lingering::new(Impatient::new(stream, patience, seat), unread);
                    connection.drive(protocol.serve(stream, service)).await;
                }
                Some(tls) => {
                    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream));
                    // Scanners and plain HTTP end here; that is their business.
                    let Ok(Ok(stream)) = connection.unless_stopped(handshake).await else {
                        return;
                    };
                    let stream = Lingering::new(Impatient::new(stream, patience, seat), unread);
                    connection.drive(protocol.serve(stream, service)).await;
                }
            }
        });
    }
    drop(listener);
    connections.finish(drain).await
}

/// The next connection. Clients beyond the limit wait in the system's queue.
async fn accept(
    listener: &TcpListener,
    seats: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(seats).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, remote)) => {
            // Answers are written in one piece; waiting for more would only delay them.
            let _ = stream.set_nodelay(true);
            Some((stream, remote, permit))
        }
        Err(error) => {
            if !is_clients_fault(&error) {
                tracing::warn!("no further connection can be accepted at the moment: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            None
        }
    }
}

/// The client gave up before it was accepted.
fn is_clients_fault(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}
