//! Websockets: after the handshake, bytes are copied both ways until either side closes.

use std::time::Instant;

use axum::extract::Request;
use http::header::UPGRADE;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use super::invocation::Invocation;
use crate::{service::FunctionsService, worker::RequestPermit};

/// The client's side of an upgrade to a websocket. Upgrades to other protocols, such as `h2c`, are not
/// offered to the worker.
pub(super) fn take_client_upgrade(request: &mut Request) -> Option<OnUpgrade> {
    let protocol = request.headers().get(UPGRADE)?;
    if !protocol.as_bytes().eq_ignore_ascii_case(b"websocket") {
        return None;
    }
    request.extensions_mut().remove::<OnUpgrade>()
}

/// Connects both sides, until the deadline or the shutdown of the server.
pub(super) fn connect(
    service: &FunctionsService,
    client: OnUpgrade,
    worker: OnUpgrade,
    permit: RequestPermit,
    invocation: Option<Invocation>,
    deadline: Instant,
) {
    let closing = service.closing_connections().clone();
    service.tasks().spawn(async move {
        let copy = async {
            let (Ok(client), Ok(worker)) = (client.await, worker.await) else {
                return;
            };
            let (mut client, mut worker) = (TokioIo::new(client), TokioIo::new(worker));
            // Either side may close at any time.
            _ = tokio::io::copy_bidirectional(&mut client, &mut worker).await;
        };
        tokio::select! {
            () = copy => {}
            () = closing.cancelled() => {}
            () = tokio::time::sleep_until(deadline.into()) => {}
        }
        drop((permit, invocation));
    });
}
