//! Websockets: after the handshake, bytes go both ways until somebody has enough.

use std::time::Instant;

use axum::extract::Request;
use http::header::UPGRADE;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use super::invocation::Invocation;
use crate::{service::FunctionsService, worker::Seat};

/// The client's connection, if it is to become a websocket. Offers of other protocols, such as `h2c`,
/// are for us alone.
pub(super) fn client_side(request: &mut Request) -> Option<OnUpgrade> {
    let protocol = request.headers().get(UPGRADE)?;
    if !protocol.as_bytes().eq_ignore_ascii_case(b"websocket") {
        return None;
    }
    request.extensions_mut().remove::<OnUpgrade>()
}

/// Connects both sides, until the time is over or the server stops.
pub(super) fn connect(
    service: &FunctionsService,
    client: OnUpgrade,
    worker: OnUpgrade,
    seat: Seat,
    invocation: Option<Invocation>,
    until: Instant,
) {
    let stopping = service.stopping().clone();
    service.tasks().spawn(async move {
        let pass = async {
            let (Ok(client), Ok(worker)) = (client.await, worker.await) else {
                return;
            };
            let (mut client, mut worker) = (TokioIo::new(client), TokioIo::new(worker));
            // Either side may break it off at any time.
            _ = tokio::io::copy_bidirectional(&mut client, &mut worker).await;
        };
        tokio::select! {
            () = pass => {}
            () = stopping.cancelled() => {}
            () = tokio::time::sleep_until(until.into()) => {}
        }
        drop((seat, invocation));
    });
}
