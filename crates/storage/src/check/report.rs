//! A check in progress, and what it reports.

use std::io;

use plinth_db::DbError;
use plinth_project::{FileCheck, ProjectDb};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::finding::Finding;
use crate::{
    blobs::{Blobs, GcTiming},
    owner::ClaimError,
};

/// Why a check was not completed.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The store failed for too many blobs in a row.
    #[error("the file store cannot be read: {0}")]
    Store(io::Error),
    /// The store belongs to another installation, or its owner is unknown.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// The receiver of the report is gone.
    #[error("the check was cancelled: the client disconnected")]
    Cancelled,
}

/// A check in progress.
pub(super) struct Check<'a> {
    pub(super) db: &'a ProjectDb,
    pub(super) blobs: Blobs,
    pub(super) timing: GcTiming,
    pub(super) options: FileCheck,
    pub(super) lines: &'a mpsc::Sender<Value>,
    /// How many blobs in a row could not be read.
    pub(super) consecutive_failures: usize,
    pub(super) summary: Summary,
}

impl Check<'_> {
    pub(super) async fn report(&mut self, finding: &Finding) -> Result<(), CheckError> {
        self.summary.findings += 1;
        self.send_line(finding.to_json()).await
    }

    /// Also notices that the receiver is gone.
    pub(super) async fn report_progress(&self) -> Result<(), CheckError> {
        let Summary { files, .. } = self.summary;
        let rows = self.summary.rows();
        self.send_line(json!({ "progress": { "rows": rows, "files": files } }))
            .await
    }

    async fn send_line(&self, line: Value) -> Result<(), CheckError> {
        self.lines
            .send(line)
            .await
            .map_err(|_| CheckError::Cancelled)
    }
}

/// What was checked and found.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) objects: u64,
    pub(super) parts: u64,
    /// Unfinished resumable uploads.
    pub(super) uploads: u64,
    /// Blobs in the store, in any state, and their sizes in total.
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) findings: u64,
    /// Blobs that the garbage collection removed before the check.
    pub(super) collected: u64,
    /// Blobs that the ledger lists as pending, and as to be removed.
    pub(super) pending: i64,
    pub(super) leaving: i64,
    /// Orphans that were handed to the garbage collection.
    pub(super) repaired: u64,
    /// Rows without a digest to compare the blob with.
    pub(super) unverified: u64,
}

impl Summary {
    fn rows(&self) -> u64 {
        self.objects + self.parts + self.uploads
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "objects": self.objects,
            "parts": self.parts,
            "uploads": self.uploads,
            "files": self.files,
            "bytes": self.bytes,
            "findings": self.findings,
            "collected": self.collected,
            "pending": self.pending,
            "leaving": self.leaving,
            "repaired": self.repaired,
            "unverified": self.unverified,
        })
    }
}
