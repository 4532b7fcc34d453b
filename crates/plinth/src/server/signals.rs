//! Shutdown signals.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Outcome;

/// SIGINT (Ctrl-C) and SIGTERM (systemd, `plinth stop`). Installed before the process can be found by
/// others, so that no signal kills it by its default action and leaves PostgreSQL behind.
pub(super) struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl ShutdownSignals {
    pub(super) fn install() -> Outcome<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
