//! Why a server exited, taken from its log.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::log_line::{Level, LogEntry};

const MAX_ENTRIES: usize = 20;

/// The last entries of one server's log.
#[derive(Debug)]
pub(super) struct RecentLog {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    entries: VecDeque<(Level, String)>,
    last_entry_at: Instant,
}

impl RecentLog {
    pub(super) fn new() -> Self {
        let inner = Inner {
            entries: VecDeque::new(),
            last_entry_at: Instant::now(),
        };
        Self {
            inner: Mutex::new(inner),
        }
    }

    pub(super) fn add(&self, entry: &LogEntry) {
        let mut inner = self
            .inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        inner.last_entry_at = Instant::now();
        // A fatal error in a session, say a wrong password, is not fatal to the server.
        if entry.database.is_some() {
            return;
        }
        if inner.entries.len() == MAX_ENTRIES {
            inner.entries.pop_front();
        }
        inner
            .entries
            .push_back((entry.level, entry.message.clone()));
    }

    /// How long the server has logged nothing.
    pub(super) fn silent_for(&self) -> Duration {
        let inner = self
            .inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        inner.last_entry_at.elapsed()
    }

    /// The reason from the log, or else the exit status.
    pub(super) fn reason(&self, status: ExitStatus) -> String {
        if status.signal().is_some() {
            return format!("it was killed ({status})");
        }
        let inner = self
            .inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let entries = inner
            .entries
            .iter()
            .map(|(level, message)| (*level, message.as_str()));
        let reason = exit_reason(&entries.collect::<Vec<_>>());
        match reason {
            Some(reason) => reason,
            None => format!("it exited with {status} and logged no reason"),
        }
    }
}

/// The last fatal message; for a configuration error the details, which PostgreSQL logs in ordinary
/// entries before it.
fn exit_reason(entries: &[(Level, &str)]) -> Option<String> {
    let end = entries
        .iter()
        .rposition(|(level, _)| *level >= Level::Fatal);
    let Some(end) = end else {
        // Errors before logging is set up, such as a missing library.
        let (level, message) = entries.last()?;
        let is_from_loader = *level == Level::Log && message.starts_with("postgres: ");
        return is_from_loader.then(|| one_line(message));
    };
    let fatal = one_line(entries[end].1);
    if !fatal.contains("contains errors") {
        return Some(fatal);
    }
    let details: Vec<String> = entries[..end]
        .iter()
        .filter(|(_, message)| message.contains("parameter") || message.contains("syntax error"))
        .map(|(_, message)| one_line(message))
        .collect();
    Some(if details.is_empty() {
        fatal
    } else {
        details.join("; ")
    })
}

fn one_line(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    first.trim().trim_end_matches('.').to_owned()
}

/// Whether a retry can succeed: an earlier server is still releasing its resources.
pub(super) fn is_transient(reason: &str) -> bool {
    reason.contains("pre-existing shared memory block")
        || reason.contains("lock file \"postmaster.pid\"")
        || reason.contains("could not create any Unix-domain sockets")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_fatal_message_is_the_reason() {
        let entries = [
            (Level::Log, "starting"),
            (
                Level::Fatal,
                "could not write: No space left on device.\nand more",
            ),
            (Level::Log, "shutting down"),
        ];
        assert_eq!(
            exit_reason(&entries).as_deref(),
            Some("could not write: No space left on device")
        );
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let entries = [
            (
                Level::Log,
                "invalid value for parameter \"work_mem\": \"much\"",
            ),
            (
                Level::Fatal,
                "configuration file \"/d/plinth.conf\" contains errors",
            ),
        ];
        assert_eq!(
            exit_reason(&entries).as_deref(),
            Some("invalid value for parameter \"work_mem\": \"much\"")
        );
    }

    #[test]
    fn a_missing_library_is_named_and_ordinary_entries_are_no_reason() {
        let library = "postgres: error while loading shared libraries: libpq.so.5";
        assert_eq!(
            exit_reason(&[(Level::Log, library)]).as_deref(),
            Some(library)
        );
        assert_eq!(
            exit_reason(&[(Level::Log, "database system is ready")]),
            None
        );
        assert_eq!(exit_reason(&[]), None);
    }
}
