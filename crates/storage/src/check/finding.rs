//! What a check finds wrong.

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::{
    blobs::{Place, Stored, Version},
    wire_time,
};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// A row names bytes that are not there, or names none.
    Missing(Named),
    /// The bytes of a row are more or fewer than it says.
    WrongSize { named: Named, stored: u64 },
    /// The bytes of a row are others than those that came.
    WrongDigest(Named),
    /// The bytes of a row cannot be looked at.
    Unreadable { named: Named, reason: String },
    /// A part of the store cannot be looked through.
    Unlisted { reason: String },
    /// Bytes that nothing names.
    Orphan { stored: Stored, is_repaired: bool },
    /// Bytes that the collector cannot remove.
    Stuck { version: Version, attempts: i32 },
}

/// Bytes as a row names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) kind: Kind,
    pub(super) bucket: String,
    pub(super) name: String,
    /// As it stands in the row: a user's SQL may have written anything.
    pub(super) version: Option<String>,
    pub(super) size: Option<u64>,
}

/// What sort of row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    /// Of an upload of the S3 protocol.
    Part,
    /// One over several requests, as far as it has come.
    Upload,
}

impl Finding {
    /// As it goes over the wire.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Missing(named) => named.to_json("missing"),
            Self::WrongSize { named, stored } => {
                let mut finding = named.to_json("wrong_size");
                finding["stored"] = json!(stored);
                finding
            }
            Self::WrongDigest(named) => named.to_json("wrong_digest"),
            Self::Unreadable { named, reason } => {
                let mut finding = named.to_json("unreadable");
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
                "place": match stored.place {
                    Place::Whole => "whole",
                    Place::Growing => "growing",
                    Place::Unfinished => "unfinished",
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

impl Named {
    fn to_json(&self, finding: &str) -> Value {
        json!({
            "finding": finding,
            "of": match self.kind {
                Kind::Object => "object",
                Kind::Part => "part",
                Kind::Upload => "upload",
            },
            "bucket": self.bucket,
            "name": self.name,
            "version": self.version,
            "size": self.size,
        })
    }
}
