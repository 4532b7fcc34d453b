//! One WebSocket: handshake, frames, channels and close (§2 to §4).
//!
//! [`task`] is the only task that reads from and writes to the client. [`channels`] handles its
//! frames without waiting: what takes time runs beside, and its outcome comes back as an event.

mod access_token;
mod channels;
mod handshake;
mod join;
mod log;
mod push;
mod push_error;
mod task;

use std::sync::Arc;

use plinth_project::Project;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use handshake::{HandshakeError, open};
pub(crate) use push_error::PushError;

use self::log::SocketLog;
use crate::{
    config::RealtimeConfig, hub::Hub, identity::Identity, outbound_queue::OutboundQueue,
    protocol::Version,
};

/// What everything on a socket shares.
#[derive(Debug)]
pub(crate) struct SocketContext {
    pub(crate) project: Project,
    pub(crate) hub: Arc<Hub>,
    pub(crate) version: Version,
    /// From the handshake; used by channels that have no token of their own.
    pub(crate) identity: Identity,
    /// What policies see as `request.headers`.
    pub(crate) headers: Arc<str>,
    pub(crate) log: SocketLog,
    pub(crate) outbound: Arc<OutboundQueue>,
    /// Cancelled when the service shuts down.
    pub(crate) stop: CancellationToken,
    /// Tasks that the service waits for when it shuts down.
    pub(crate) tasks: TaskTracker,
}

impl SocketContext {
    pub(crate) fn config(&self) -> Arc<RealtimeConfig> {
        self.project.config::<RealtimeConfig>()
    }
}
