//! The server's log, read from its standard error stream.
//!
//! Each line begins with the fields of [`PREFIX`], except those written before the configuration
//! was read. Postgres indents the further lines of a message with a tab, so that nothing a client
//! sends can look like the beginning of an entry. Details, hints and statements come as entries of
//! their own; [`Assembler`] puts them back where they belong.

mod assemble;
mod parse;
mod split;

use std::time::SystemTime;

pub(crate) use assemble::Assembler;
pub(crate) use split::LineSplitter;

/// `log_line_prefix` as written in the configuration: epoch, pid, kind of process, SQLSTATE, user
/// and database, each followed by the unit separator, which is in no sensible name.
pub(crate) const PREFIX: &str = r"%n\037%p\037%b\037%e\037%u\037%d\037";

/// The longest text that one field of an entry keeps.
const MAX_FIELD_BYTES: usize = 64 * 1024;

/// One entry of the server's log, with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub time: SystemTime,
    pub level: Level,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    pub context: Option<String>,
    /// The statement that caused the entry.
    pub statement: Option<String>,
    /// Five characters; `None` where nothing failed.
    pub sqlstate: Option<String>,
    pub user: Option<String>,
    pub database: Option<String>,
    pub pid: Option<u32>,
    /// The kind of process: `client backend`, `checkpointer`, `walsender`, …
    pub process: Option<String>,
}

/// How serious an entry is, as Postgres orders it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    /// For the server's operator, not for clients.
    Log,
    Fatal,
    Panic,
}

impl Level {
    /// The word as Postgres writes it; the five debug levels are one.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Log => "LOG",
            Self::Fatal => "FATAL",
            Self::Panic => "PANIC",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "DEBUG1" | "DEBUG2" | "DEBUG3" | "DEBUG4" | "DEBUG5" | "DEBUG" => Self::Debug,
            "INFO" => Self::Info,
            "NOTICE" => Self::Notice,
            "WARNING" => Self::Warning,
            "ERROR" => Self::Error,
            "LOG" => Self::Log,
            "FATAL" => Self::Fatal,
            "PANIC" => Self::Panic,
            _ => return None,
        })
    }
}
