//! Listeners and connections: HTTP/1.1 and HTTP/2 on one port, optional TLS, graceful shutdown.

mod bind;
mod connections;
mod lingering_close;
mod opening_timeout;
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
use lingering_close::{LingeringStream, UnreadBody};
use opening_timeout::{ConnectionPermit, OpeningTimeout};
use protocol::Protocol;

/// A client that is admitted but does not finish the TLS handshake is dropped after this time.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Delay before the next `accept` after it failed, for example for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Serves until `shutdown`, then waits up to `drain` for requests in flight, and returns how many
/// connections were aborted. Upgraded connections belong to their service and are not awaited.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    gateway: Gateway,
    shutdown: CancellationToken,
    drain: Duration,
) -> Drained {
    let connections = Connections::new(shutdown.clone());
    let protocol = Protocol::new(gateway.config());
    let permits = Arc::new(Semaphore::new(gateway.config().max_connections));
    let is_tls = tls.is_some();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &permits) => accepted,
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
        let permit = ConnectionPermit::new(permit);
        let (tls, gateway, protocol) = (tls.clone(), gateway.clone(), protocol.clone());
        connections.spawn(|connection| async move {
            let timeout = gateway.config().header_timeout;
            let unread = UnreadBody::default();
            let bodies = unread.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let gateway = gateway.clone();
                let request = bodies.watch(request);
                async move { Ok::<_, Infallible>(gateway.handle(request, peer).await) }
            });
            match tls {
                None => {
                    let stream =
                        LingeringStream::new(OpeningTimeout::new(stream, timeout, permit), unread);
                    connection.drive(protocol.serve(stream, service)).await;
                }
                Some(tls) => {
                    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream));
                    // Port scanners and plain HTTP fail here; that is not worth a log line.
                    let Ok(Ok(stream)) = connection.until_shutdown(handshake).await else {
                        return;
                    };
                    let stream =
                        LingeringStream::new(OpeningTimeout::new(stream, timeout, permit), unread);
                    connection.drive(protocol.serve(stream, service)).await;
                }
            }
        });
    }
    drop(listener);
    connections.drain(drain).await
}

/// The next connection. Clients beyond `max_connections` wait in the kernel's accept queue.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, remote)) => {
            // Responses are written in one piece; Nagle's algorithm would only delay them.
            let _ = stream.set_nodelay(true);
            Some((stream, remote, permit))
        }
        Err(error) => {
            if !is_clients_fault(&error) {
                tracing::warn!("accepting connections failed, retrying: {error}");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
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
