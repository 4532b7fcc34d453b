//! What a check reports.

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::{
    blobs::{BlobState, StoredBlob, Version},
    wire_time,
};

/// A mismatch between rows and blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// The blob of a row is missing, or the row names none.
    Missing(RowBlob),
    /// The blob has another size than the row says.
    WrongSize { row: RowBlob, stored: u64 },
    /// The blob has another digest than the row says.
    WrongDigest(RowBlob),
    /// The blob of a row cannot be read.
    Unreadable { row: RowBlob, reason: String },
    /// A part of the store cannot be listed.
    Unlisted { reason: String },
    /// A blob that nothing references.
    Orphan {
        stored: StoredBlob,
        is_repaired: bool,
    },
    /// A blob that the garbage collection failed to remove.
    Stuck { version: Version, attempts: i32 },
}

/// The blob of a row, as the row describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowBlob {
    pub(super) kind: RowKind,
    pub(super) bucket: String,
    pub(super) name: String,
    /// Unparsed: a user's SQL may have written anything.
    pub(super) version: Option<String>,
    pub(super) size: Option<u64>,
}

/// The table of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Object,
    /// Of a multipart upload.
    Part,
    /// A resumable upload, as far as it was received.
    Upload,
}

impl Finding {
    /// One line of the report.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Missing(row) => row.to_json("missing"),
            Self::WrongSize { row, stored } => {
                let mut finding = row.to_json("wrong_size");
                finding["stored"] = json!(stored);
                finding
            }
            Self::WrongDigest(row) => row.to_json("wrong_digest"),
            Self::Unreadable { row, reason } => {
                let mut finding = row.to_json("unreadable");
                finding["reason"] = json!(reason);
                finding
            }
            Self::Unlisted { reason } => json!({ "finding": "unlisted", "reason": reason }),
            Self::Orphan {
                stored,
                is_repaired,
            } => json!({
                "finding": "orphan",
                "version": stored.version.to_string(),
                "place": match stored.state {
                    BlobState::Complete => "whole",
                    BlobState::Resumable => "growing",
                    BlobState::InFlight => "unfinished",
                },
                "size": stored.size,
                "modified": wire_time::render(OffsetDateTime::from(stored.modified)),
                "repaired": is_repaired,
            }),
            Self::Stuck { version, attempts } => json!({
                "finding": "stuck",
                "version": version.to_string(),
                "attempts": attempts,
            }),
        }
    }
}

impl RowBlob {
    fn to_json(&self, finding: &str) -> Value {
        json!({
            "finding": finding,
            "of": match self.kind {
                RowKind::Object => "object",
                RowKind::Part => "part",
                RowKind::Upload => "upload",
            },
            "bucket": self.bucket,
            "name": self.name,
            "version": self.version,
            "size": self.size,
        })
    }
}
