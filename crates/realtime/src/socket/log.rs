//! What the server's log says about one socket, which its client chooses (`log_level`, §2.1).
//!
//! What a client does wrong it is told itself, so as a rule the log says it for those alone who ask
//! for everything. A client that names a level has what is at least that serious logged at its own
//! level. Anybody may name one, so a socket has a few such records and no more.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// So many records does a socket get at the level that it wants.
const MOST: u32 = 100;

/// How serious something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Info,
    Warning,
}

/// The log of one socket.
#[derive(Debug)]
pub(crate) struct SocketLog {
    /// Nothing, if only errors are wanted: clients make none that are the server's.
    from: Option<Severity>,
    left: AtomicU32,
}

impl SocketLog {
    /// What the handshake wants; words that mean nothing mean the default.
    pub(super) fn read(wanted: Option<&str>) -> Self {
        let from = match wanted {
            Some("info") => Some(Severity::Info),
            Some("warning") => Some(Severity::Warning),
            _ => None,
        };
        Self {
            from,
            left: AtomicU32::new(MOST),
        }
    }

    /// Something happened on the socket. `code` is the contract's word for it, if it has one.
    pub(crate) fn note(&self, severity: Severity, code: &str, what: fmt::Arguments<'_>) {
        match severity {
            _ if !self.raises(severity) => tracing::debug!(code, "{what}"),
            Severity::Info => tracing::info!(code, "{what}"),
            Severity::Warning => tracing::warn!(code, "{what}"),
        }
    }

    fn raises(&self, severity: Severity) -> bool {
        let take_one = |left: u32| left.checked_sub(1);
        let is_wanted = self.from.is_some_and(|from| severity >= from);
        is_wanted && self.left.fetch_update(Relaxed, Relaxed, take_one).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_is_serious_enough_for_it() {
        let check = |wanted, expected: [bool; 2]| {
            let log = SocketLog::read(wanted);
            let raised = [Severity::Info, Severity::Warning].map(|severity| log.raises(severity));
            assert_eq!(raised, expected, "{wanted:?}");
        };
        check(Some("info"), [true, true]);
        check(Some("warning"), [false, true]);
        check(Some("error"), [false, false]);
        check(None, [false, false]);
        check(Some("INFO"), [false, false]);
    }

    #[test]
    fn nobody_can_fill_the_log() {
        let log = SocketLog::read(Some("info"));
        let raised = (0..1000).filter(|_| log.raises(Severity::Info)).count();
        assert_eq!(raised, 100);
    }
}
