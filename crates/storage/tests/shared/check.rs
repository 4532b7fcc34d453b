//! Checks whether rows and blobs match.

use plinth_project::{FileCheck, Project};
use plinth_storage::StorageService;
use serde_json::Value;

/// The findings of a check, and its last line.
pub(crate) async fn run_check(
    service: &StorageService,
    project: &Project,
    how: FileCheck,
) -> (Vec<Value>, Value) {
    let mut lines = service.check(project, how);
    let (mut findings, mut last) = (Vec::new(), Value::Null);
    while let Some(line) = lines.recv().await {
        if line.get("finding").is_some() {
            findings.push(line.clone());
        }
        last = line;
    }
    (findings, last)
}
