//! What is known of blobs.

use std::{io, time::SystemTime};

use super::version::Version;

/// A blob that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenBlob {
    pub(crate) size: u64,
    /// In hexadecimal digits.
    pub(crate) md5: String,
}

/// What one request has appended to a resumable blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenChunk {
    pub(crate) size: u64,
    pub(crate) md5: [u8; 16],
}

/// A blob, or a part of one, that a store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredBlob {
    pub(crate) version: Version,
    pub(crate) state: BlobState,
    pub(crate) size: u64,
    /// When its bytes or its file name last changed.
    pub(crate) modified: SystemTime,
}

/// How far a blob has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlobState {
    /// It has all its bytes and can be read.
    Complete,
    /// It grows over several requests.
    Resumable,
    /// A single request writes it, or did until it was interrupted.
    InFlight,
}

impl BlobState {
    pub(crate) const ALL: [Self; 3] = [Self::Complete, Self::Resumable, Self::InFlight];
}

/// Which of several blobs were removed. After a failure the rest is not tried: a store that is down
/// is not asked a hundred times.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    pub(crate) removed: Vec<Version>,
    pub(crate) failure: Option<(Version, io::Error)>,
}
