//! What a store has, whatever rows say about it.

use std::time::SystemTime;

use super::Version;

/// Bytes that a store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) version: Version,
    pub(crate) place: Place,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
}

/// How far they have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A blob.
    Whole,
    /// They grow over several requests.
    Growing,
    /// They are still arriving, or were left behind.
    Unfinished,
}
