//! A process of the runtime that does not serve yet.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Child;
use url::Url;
use uuid::Uuid;

use super::folder::WorkerFolder;
use crate::{
    code::Code,
    deno::{self, RunSpec},
    network::{Network, denies_ipv6},
    sandbox,
};

/// The share of the memory limit that V8 may use for its heap.
const HEAP_SHARE: (u64, u64) = (4, 5);

/// Started, and waiting for its init message. Dropping it kills it.
pub(crate) struct Process {
    /// The execution id of the worker that it becomes.
    pub(crate) id: String,
    // Dropped before its folder.
    pub(super) child: Child,
    pub(super) folder: WorkerFolder,
    /// The source roots that it may serve, if it was prewarmed rather than started for one function.
    candidates: Option<Vec<PathBuf>>,
}

/// What a process is started with.
pub(crate) struct ProcessSpec<'a> {
    pub(crate) program: &'a Path,
    pub(crate) bootstrap: &'a Path,
    pub(crate) run_dir: &'a Path,
    pub(crate) code: &'a Code,
    pub(crate) denied: &'a [Network],
    pub(crate) memory_bytes: u64,
    pub(crate) scratch_bytes: u64,
}

impl Process {
    /// A process for the code; with candidates, a prewarmed one for any of those source roots.
    pub(crate) async fn start(
        spec: &ProcessSpec<'_>,
        candidates: Option<Vec<PathBuf>>,
    ) -> Result<Self, String> {
        let id = Uuid::new_v4().to_string();
        let folder = WorkerFolder::create(spec.run_dir, &id, spec.code.account)
            .map_err(|error| format!("the directory of the worker cannot be created: {error}"))?;
        let command = deno::run(&RunSpec {
            program: spec.program,
            code: spec.code,
            bootstrap: spec.bootstrap,
            folder: folder.path(),
            socket: &folder.socket(),
            denied: spec.denied,
            heap_bytes: spec.memory_bytes / HEAP_SHARE.1 * HEAP_SHARE.0,
            scratch_bytes: spec.scratch_bytes,
            candidates: candidates.as_deref(),
        });
        let child = sandbox::spawn(command, denies_ipv6(spec.denied))
            .await
            .map_err(|error| format!("Deno could not be started: {error}"))?;
        Ok(Self {
            id,
            child,
            folder,
            candidates,
        })
    }

    /// Whether it was started before its function was known.
    pub(super) fn is_prewarmed(&self) -> bool {
        self.candidates.is_some()
    }

    /// Whether it is prewarmed, still running, and may read the source root.
    pub(crate) fn can_serve(&mut self, root: &Path) -> bool {
        let mut candidates = self.candidates.iter().flatten();
        candidates.any(|candidate| candidate == root) && matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it and reaps it.
    pub(crate) async fn kill(mut self) {
        // It may have exited already.
        _ = self.child.kill().await;
    }

    /// What a prewarmed process must know to run the code.
    pub(super) fn assignment(&self, code: &Code) -> Option<Value> {
        let candidates = self.candidates.as_ref()?;
        let module = Url::from_file_path(&code.entrypoint).ok()?;
        // Revoking a part of its own sources would revoke all of them.
        let is_other = |candidate: &&PathBuf| !candidate.starts_with(&code.root);
        let revoked: Vec<_> = candidates.iter().filter(is_other).collect();
        Some(json!({
            "module": module.as_str(),
            "file": code.entrypoint,
            "folder": code.current_dir(),
            "revoked": revoked,
        }))
    }
}
