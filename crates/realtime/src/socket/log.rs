//! Log records about one socket, whose level its client chooses (`log_level`, §2.1).
//!
//! Clients receive their errors in replies, so by default such records have level debug. A client
//! that names a level gets records of at least that severity at their own level. Any client may do
//! so, which is why their number per socket is limited.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// How many records of one socket are logged above level debug.
const MAX_RAISED_RECORDS: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Info,
    Warning,
}

/// Decides the level of a socket's log records.
#[derive(Debug)]
pub(crate) struct SocketLog {
    /// `None` for errors only, which no client causes.
    min_severity: Option<Severity>,
    records_left: AtomicU32,
}

impl SocketLog {
    /// From the parameter `log_level`; unknown values mean the default.
    pub(super) fn from_level(level: Option<&str>) -> Self {
        let min_severity = match level {
            Some("info") => Some(Severity::Info),
            Some("warning") => Some(Severity::Warning),
            _ => None,
        };
        Self {
            min_severity,
            records_left: AtomicU32::new(MAX_RAISED_RECORDS),
        }
    }

    /// Logs something that happened on the socket. `code` is the contract's, if it has one.
    pub(crate) fn record(&self, severity: Severity, code: &str, what: fmt::Arguments<'_>) {
        match severity {
            _ if !self.raises(severity) => tracing::debug!(code, "{what}"),
            Severity::Info => tracing::info!(code, "{what}"),
            Severity::Warning => tracing::warn!(code, "{what}"),
        }
    }

    fn raises(&self, severity: Severity) -> bool {
        let take_one = |records: u32| records.checked_sub(1);
        let is_wanted = self.min_severity.is_some_and(|min| severity >= min);
        is_wanted
            && self
                .records_left
                .fetch_update(Relaxed, Relaxed, take_one)
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_chooses_the_severity_that_is_logged() {
        let check = |wanted, expected: [bool; 2]| {
            let log = SocketLog::from_level(wanted);
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
    fn no_client_can_fill_the_log() {
        let log = SocketLog::from_level(Some("info"));
        let raised = (0..1000).filter(|_| log.raises(Severity::Info)).count();
        assert_eq!(raised, 100);
    }
}
