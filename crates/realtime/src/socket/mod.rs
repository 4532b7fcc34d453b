//! One websocket: how it is opened, what is said on it, and how it ends (§2 to §4).

mod conversation;
mod handshake;
mod log;
mod outbox;
mod speech;
mod task;

use std::sync::Arc;

use plinth_project::Project;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use handshake::open;
pub(crate) use outbox::{End, Outbox};

use self::log::SocketLog;
use crate::{config::RealtimeConfig, hub::Hub, identity::Identity, protocol::Version};

/// What everything on a socket knows.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) project: Project,
    pub(crate) hub: Arc<Hub>,
    pub(crate) version: Version,
    /// Whoever opened it; channels without a token of their own are theirs.
    pub(crate) identity: Identity,
    /// What policies see as `request.headers`.
    pub(crate) headers: Arc<str>,
    pub(crate) log: SocketLog,
    pub(crate) outbox: Arc<Outbox>,
    /// The service ends.
    pub(crate) stop: CancellationToken,
    /// What the service waits for then.
    pub(crate) tasks: TaskTracker,
}

impl Scene {
    pub(crate) fn config(&self) -> Arc<RealtimeConfig> {
        self.project.config::<RealtimeConfig>()
    }
}
