//! Websockets of internal calls.
//!
//! The service gets a connection of its own in memory, so that the socket can be closed when the
//! operator's right to it ends: a service knows only the credential that it was given.

use std::convert::Infallible;

use axum::{
    Router,
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Request, StatusCode, header::UPGRADE};
use hyper::{body::Incoming, client, server, service::service_fn, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use plinth_project::BoxFuture;
use tokio::io::{copy_bidirectional, duplex};

use crate::routing::call_router;

/// Bytes in flight in each direction.
const BUFFER_BYTES: usize = 64 * 1024;

/// Whether the client asks for a websocket.
pub(super) fn is_requested(headers: &HeaderMap) -> bool {
    let protocol = headers.get(UPGRADE);
    protocol.is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// The service's response. If it switches protocols, bytes are copied both ways until either side
/// closes or `ended` completes.
pub(super) async fn call(
    router: &Router,
    request: Request<Body>,
    client: OnUpgrade,
    ended: BoxFuture<'static, ()>,
) -> Response {
    match open(router.clone(), request).await {
        Ok(mut response) => {
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                let service = hyper::upgrade::on(&mut response);
                tokio::spawn(copy(client, service, ended));
            }
            response.map(Body::new)
        }
        Err(error) => {
            tracing::warn!("an internal connection to a service failed: {error}");
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}

/// Sends the request over a connection in memory. Both tasks end with the connection.
async fn open(router: Router, mut request: Request<Body>) -> hyper::Result<Response<Incoming>> {
    let (ours, theirs) = duplex(BUFFER_BYTES);
    let extensions = std::mem::take(request.extensions_mut());
    let serve = service_fn(move |received: Request<Incoming>| {
        let mut received = received.map(Body::new);
        received.extensions_mut().extend(extensions.clone());
        let response = call_router(&router, received);
        async move { Ok::<_, Infallible>(response.await) }
    });
    let serving = server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(theirs), serve)
        .with_upgrades();
    tokio::spawn(serving);
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(ours)).await?;
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await
}

async fn copy(client: OnUpgrade, service: OnUpgrade, ended: BoxFuture<'static, ()>) {
    let copied = async {
        let (Ok(client), Ok(service)) = (client.await, service.await) else {
            return;
        };
        let (mut client, mut service) = (TokioIo::new(client), TokioIo::new(service));
        // Either side may close at any time.
        _ = copy_bidirectional(&mut client, &mut service).await;
    };
    tokio::select! {
        () = copied => {}
        () = ended => {}
    }
}
