//! Signals: shutdown and reload.

use std::{pin::pin, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::Server;
use crate::failure::{Failure, Outcome};

/// How long requests in flight may take after a signal.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Installed at the start, so that no signal kills the process by its default action.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    reload_schema: Signal,
    reload_config: Signal,
}

impl Signals {
    pub(super) fn install() -> Outcome<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            reload_schema: signal(SignalKind::user_defined1())?,
            reload_config: signal(SignalKind::user_defined2())?,
        })
    }

    /// Handles signals until `serving` has ended. Cancels `shutdown` to drain it and `abort` after
    /// the drain timeout. `lost` completes if the database is lost for good.
    pub(super) async fn handle(
        mut self,
        server: &Server,
        mut serving: JoinHandle<std::io::Result<()>>,
        lost: impl Future<Output = Failure>,
        shutdown: CancellationToken,
        abort: CancellationToken,
    ) -> Outcome {
        let mut lost = pin!(lost);
        loop {
            tokio::select! {
                failure = &mut lost => {
                    shutdown.cancel();
                    abort.cancel();
                    _ = serving.await;
                    return Err(failure);
                }
                ended = &mut serving => {
                    shutdown.cancel();
                    return Ok(ended??);
                }
                _ = self.reload_schema.recv() => server.reload_schema(),
                _ = self.reload_config.recv() => server.reload_config(),
                () = server.service.config_reload_requested() => server.reload_config(),
                _ = self.terminate.recv() => break,
                _ = self.interrupt.recv() => break,
            }
        }
        tracing::info!("shutting down: draining requests in flight; a second signal aborts them");
        shutdown.cancel();
        tokio::select! {
            ended = &mut serving => return Ok(ended??),
            () = tokio::time::sleep(DRAIN_TIMEOUT) => {}
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        tracing::warn!("requests in flight were aborted");
        abort.cancel();
        Ok(serving.await??)
    }
}
