//! Being told to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Outcome;

/// Ctrl-C, and what systemd and `plinth stop` send. Caught from the moment on in which others can
/// know of the process, so that none ends it by its default meaning, with PostgreSQL left behind.
pub(super) struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    pub(super) fn catch() -> Outcome<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
