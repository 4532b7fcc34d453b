//! Runs a check from its start to its summary.

use plinth_project::{FileCheck, Project};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::report::{Check, CheckError, Summary};
use crate::{blobs::Blobs, config::StorageConfig};

/// Lines that may wait for the receiver.
pub(crate) const CHANNEL_CAPACITY: usize = 64;

/// Compares rows and blobs of a project and sends what it finds, line by line; the last line is a
/// summary, or says why there is none. `collected` is how the garbage collection before it ended.
pub(crate) async fn run(
    project: &Project,
    blobs: Blobs,
    options: FileCheck,
    collected: Result<u64, CheckError>,
    lines: &mpsc::Sender<Value>,
) {
    let compared = async { compare(project, blobs, options, collected?, lines).await };
    let last = match compared.await {
        Ok(summary) => json!({ "summary": summary.to_json() }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    _ = lines.send(last).await;
}

async fn compare(
    project: &Project,
    blobs: Blobs,
    options: FileCheck,
    collected: u64,
    lines: &mpsc::Sender<Value>,
) -> Result<Summary, CheckError> {
    let mut check = Check {
        db: &project.db,
        blobs,
        timing: project.config::<StorageConfig>().gc,
        options,
        lines,
        consecutive_failures: 0,
        summary: Summary {
            collected,
            ..Summary::default()
        },
    };
    check.rows().await?;
    check.bytes().await?;
    check.ledger().await?;
    Ok(check.summary)
}
