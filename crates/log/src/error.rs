//! Errors of the log store.

use std::{io, path::PathBuf};

use crate::{histogram::MAX_BUCKETS, query::MAX_LIMIT};

/// Why a log store could not be opened or its writer started.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The configured project for the store's own records cannot name a folder.
    #[error(
        "`{0}` cannot hold the log store's own records: a project ref has 1 to 64 lower-case \
         letters, digits, `_` or `-`"
    )]
    InvalidProject(String),
    /// A queue, segment or tail of size zero could hold nothing.
    #[error("the log setting `{0}` must be greater than zero")]
    ZeroSize(&'static str),
    /// The operating system gave no thread.
    #[error("the log writer's thread could not be started: {0}")]
    Thread(#[source] io::Error),
}

/// Why a record was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The project is part of a path, so it is held to a strict form.
    #[error("`{0}` is not a project ref: it needs 1 to 64 lower-case letters, digits, `_` or `-`")]
    InvalidProject(String),
    /// The writer cannot keep up; the record is counted as dropped.
    #[error("the log queue is full, so the record was dropped")]
    QueueFull,
    /// The store was closed, or its writer has ended.
    #[error("the log store is closed")]
    Closed,
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// No such level.
    #[error("`{0}` is not a log level; use one of trace, debug, info, warn, error")]
    UnknownLevel(String),
    /// No such source.
    #[error(
        "`{0}` is not a log source; use one of api, auth, rest, postgres, storage, realtime, \
         functions, jobs, audit"
    )]
    UnknownSource(String),
    /// A scope names something that is not a project ref.
    #[error("`{0}` is not a project ref: it needs 1 to 64 lower-case letters, digits, `_` or `-`")]
    InvalidProject(String),
    /// A quote is opened and never closed.
    #[error("the quote at character {0} is never closed; add a closing \" or write \\\"")]
    UnclosedQuote(usize),
    /// A key without a value.
    #[error(
        "`{0}:` has no value; write `{0}:something`, or put the whole in quotes to search for it \
         as text"
    )]
    MissingValue(String),
    /// A lone minus excludes nothing.
    #[error("`-` at character {0} excludes nothing; write `-word` or `-key:value`")]
    NothingExcluded(usize),
    /// Too many terms.
    #[error("the query has {0} terms; at most {max} are allowed", max = crate::query::MAX_TERMS)]
    TooManyTerms(usize),
    /// Too long.
    #[error(
        "the query is {0} bytes long; at most {max} are allowed",
        max = crate::query::MAX_TERMS_BYTES
    )]
    TooLong(usize),
    /// The page size is out of range.
    #[error("a page of {0} records cannot be read; ask for 1 to {MAX_LIMIT}")]
    Limit(usize),
    /// The number of histogram buckets is out of range.
    #[error("a histogram of {0} buckets cannot be drawn; ask for 1 to {MAX_BUCKETS}")]
    Buckets(usize),
    /// The interval of a series does not suit its range.
    #[error(
        "an interval of {0} seconds cannot be drawn: it needs whole minutes, and the range at most 2000 of them"
    )]
    Step(i64),
    /// The time range is empty.
    #[error("the time range is empty: its start is not before its end")]
    EmptyRange,
    /// Not a cursor of ours.
    #[error("the cursor is not one that an earlier page returned; start again without it")]
    InvalidCursor,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The query is invalid.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A file or folder of the store cannot be read.
    #[error("the log store cannot read {path}: {source}", path = path.display())]
    Read {
        /// What could not be read.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl SearchError {
    pub(crate) fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Read {
            path: path.into(),
            source,
        }
    }
}
