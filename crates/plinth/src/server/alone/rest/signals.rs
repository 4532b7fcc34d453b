//! What the process is told while it runs.

use std::{pin::pin, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::Server;
use crate::failure::{Failure, Outcome};

/// How long open requests may take to finish.
const DRAIN: Duration = Duration::from_secs(30);

/// Caught from the start on, so that none ends the process by its default meaning.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    reload_schema: Signal,
    reload_config: Signal,
}

impl Signals {
    pub(super) fn catch() -> Outcome<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            reload_schema: signal(SignalKind::user_defined1())?,
            reload_config: signal(SignalKind::user_defined2())?,
        })
    }

    /// Until it is time to end and `serving` has ended. `stop` tells it to finish what is open,
    /// `cut` that time is up. `lost` says why there is nothing left to serve.
    pub(super) async fn follow(
        mut self,
        server: &Server,
        mut serving: JoinHandle<std::io::Result<()>>,
        lost: impl Future<Output = Failure>,
        stop: CancellationToken,
        cut: CancellationToken,
    ) -> Outcome {
        let mut lost = pin!(lost);
        loop {
            tokio::select! {
                failure = &mut lost => {
                    stop.cancel();
                    cut.cancel();
                    _ = serving.await;
                    return Err(failure);
                }
                ended = &mut serving => {
                    stop.cancel();
                    return Ok(ended??);
                }
                _ = self.reload_schema.recv() => server.reload_schema(),
                _ = self.reload_config.recv() => server.reload_config(),
                () = server.service.config_asked() => server.reload_config(),
                _ = self.terminate.recv() => break,
                _ = self.interrupt.recv() => break,
            }
        }
        tracing::info!("stopping: finishing open requests; a second signal ends them");
        stop.cancel();
        tokio::select! {
            ended = &mut serving => return Ok(ended??),
            () = tokio::time::sleep(DRAIN) => {}
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        tracing::warn!("open requests were cut off");
        cut.cancel();
        Ok(serving.await??)
    }
}
